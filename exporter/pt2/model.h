// Contents of a .pt2 file as plain structs: the ExportedProgram JSON of torch.export.save (schema 8.x), uninterpreted.
// Names follow torch/_export/serde/schema.py. Order follows the file.
#pragma once

#include <tern/dtype.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exporter/pt2/name_map.h"

namespace tern::pt2 {

struct Graph;

/// Integer, literal or an expression.
struct SymInt {
  std::int64_t value = 0;            ///< the literal; 0 for an expression
  std::string expr;                  ///< sympy srepr, see sympy.h; empty for a literal
  std::optional<std::int64_t> hint;  ///< value at export; absent for unbacked symbols

  bool is_literal() const { return expr.empty(); }
};

/// As SymInt.
struct SymFloat {
  double value = 0;
  std::string expr;
  std::optional<double> hint;

  bool is_literal() const { return expr.empty(); }
};

/// As SymInt.
struct SymBool {
  bool value = false;
  std::string expr;
  std::optional<bool> hint;

  bool is_literal() const { return expr.empty(); }
};

/// A use of a scalar in an argument: of the graph's value `name`, or a literal when `name` is empty.
template <class T>
struct SymArgument {
  std::string name;
  T value{};

  bool is_literal() const { return name.empty(); }
};
using SymIntArgument = SymArgument<std::int64_t>;
using SymFloatArgument = SymArgument<double>;
using SymBoolArgument = SymArgument<bool>;

/// PyTorch's numbering in the file (torch/_export/serde/schema.py), not c10's.
enum class Layout : std::int32_t {
  unknown = 0,
  sparse_coo = 1,
  sparse_csr = 2,
  sparse_csc = 3,
  sparse_bsr = 4,
  sparse_bsc = 5,
  mkldnn = 6,
  strided = 7,
};
enum class MemoryFormat : std::int32_t {
  unknown = 0,
  contiguous = 1,
  channels_last = 2,
  channels_last_3d = 3,
  preserve = 4,
};

/// Dtype of the file's ScalarType number; invalid for unknown numbers.
DType dtype_from_scalar_type(std::int64_t scalar_type);

/// Value of an op's argument. Comments beside the kinds name their fields; other fields are empty.
struct Argument {
  enum class Kind : std::uint8_t {
    none,              ///< -
    tensor,            ///< name
    tensors,           ///< names
    optional_tensors,  ///< names, "" for None. (`as_optional_tensor` is read as tensor or none.)
    nested_tensors,    ///< items, each tensors
    integer,           ///< integer
    ints,              ///< ints
    int_lists,         ///< items, each ints
    real,              ///< real
    reals,             ///< reals
    real_lists,        ///< items, each reals
    complex,           ///< real, imag
    boolean,           ///< boolean
    bools,             ///< ints, 0 or 1
    string,            ///< text
    strings,           ///< names
    sym_int,           ///< name, or integer when name is empty
    sym_ints,          ///< sym_ints
    sym_float,         ///< name, or real
    sym_floats,        ///< sym_floats
    sym_bool,          ///< name, or boolean
    sym_bools,         ///< sym_bools
    scalar_type,       ///< integer: the file's number, see dtype()
    memory_format,     ///< integer: a MemoryFormat
    layout,            ///< integer: a Layout
    device,            ///< text: "cpu", "cuda:0"
    graph,             ///< name and graph
    custom_obj,        ///< name, text: the class
    op,                ///< text (`as_operator`)
    dict,              ///< names: the keys; items: the values (`as_string_to_argument`)
  };

  Kind kind = Kind::none;
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0;
  double imag = 0;
  std::string name;
  std::string text;
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  std::vector<std::string> names;
  std::vector<SymIntArgument> sym_ints;
  std::vector<SymFloatArgument> sym_floats;
  std::vector<SymBoolArgument> sym_bools;
  std::vector<Argument> items;
  std::shared_ptr<const Graph> graph;

  bool is_none() const { return kind == Kind::none; }
  DType dtype() const { return dtype_from_scalar_type(integer); }
};

/// The tag of a kind as in the file: "as_tensor".
const char* tag_of(Argument::Kind kind);

struct NamedArgument {
  enum class Passing : std::uint8_t { unknown = 0, positional = 1, keyword = 2 };
  std::string name;  ///< name in the op's schema; "" for a positional argument of a higher-order op
  Argument arg;
  Passing kind = Passing::unknown;  ///< unknown before schema 8.7
};

struct Node {
  std::string target;  ///< full name: "torch.ops.aten.add.Tensor", "_operator.mul", "torch.sym_max"
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
  std::vector<std::pair<std::string, std::string>> metadata;  ///< see metadata.h
  std::string name;                                           ///< empty before schema 8.17
  std::optional<bool> is_hop_single_tensor_return;

  /// Null if the key is absent.
  const std::string* find_metadata(std::string_view key) const {
    for (const auto& [k, v] : metadata)
      if (k == key) return &v;
    return nullptr;
  }
  /// Null for an argument left at its default.
  const Argument* find_input(std::string_view argument) const {
    for (const auto& input : inputs)
      if (input.name == argument) return &input.arg;
    return nullptr;
  }
};

struct TensorMeta {
  DType dtype = DType::invalid;
  std::int32_t scalar_type = 0;  ///< the file's number
  std::vector<SymInt> sizes;
  std::vector<SymInt> strides;  ///< strides in elements; as many as sizes
  SymInt storage_offset;        ///< in elements
  bool requires_grad = false;
  Layout layout = Layout::strided;
  std::string device;  ///< device at export: "cpu", "cuda:0"
};

/// Values of a graph are SSA and scoped: a subgraph has its own names and no access to its parent's.
struct Graph {
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Node> nodes;
  NameMap<TensorMeta> tensor_values;
  NameMap<SymInt> sym_int_values;
  NameMap<SymFloat> sym_float_values;
  NameMap<SymBool> sym_bool_values;
  NameMap<std::string> custom_obj_values;  ///< the class of each
  bool is_single_tensor_return = false;    ///< the subgraph returns one bare tensor, not a tuple
};

struct InputSpec {
  enum class Kind : std::uint8_t { user_input, parameter, buffer, tensor_constant, custom_obj, token, constant_input };
  Kind kind = Kind::user_input;
  Argument arg;  ///< the graph's input; for a constant_input its value
  std::string
      target;  ///< name in the state of a parameter, buffer, constant or custom object; name of a constant_input
  bool persistent = true;  ///< buffers: true if in the weights, false if in the constants
};

struct OutputSpec {
  enum class Kind : std::uint8_t {
    user_output,
    loss_output,
    buffer_mutation,
    parameter_mutation,
    user_input_mutation,
    gradient_to_parameter,
    gradient_to_user_input,
    token,
  };
  Kind kind = Kind::user_output;
  Argument arg;
  std::string target;  ///< target buffer, parameter or user input
};

struct Signature {
  std::vector<InputSpec> inputs;    ///< matches the graph's inputs in number and order
  std::vector<OutputSpec> outputs;  ///< matches the graph's outputs in number and order
};

/// Entry 0, with fqn "", is the calling convention of the whole program.
struct ModuleCall {
  struct Convention {
    std::vector<Argument> inputs;
    std::vector<Argument> outputs;
    std::string in_spec;   ///< JSON of a pytree: (args, kwargs)
    std::string out_spec;  ///< JSON of a pytree
    std::vector<std::string> forward_arg_names;
  };
  std::string fqn;
  std::optional<Convention> signature;
};

/// null bounds are infinite.
struct RangeConstraint {
  std::string key;  ///< Python's text: "s77", "s77 + 1"
  std::optional<std::int64_t> min;
  std::optional<std::int64_t> max;
};

/// Location of a parameter's, buffer's or constant's bytes.
struct Payload {
  std::string entry;        ///< full name in the archive: "root/data/weights/weight_0"
  bool has_tensor = false;  ///< false for custom and opaque objects: then tensor means nothing
  TensorMeta tensor;        ///< a view of the entry; the entry holds the whole storage
  bool use_pickle = false;  ///< the entry is a Python pickle: its tensor cannot be read
  bool is_param = false;
};

struct SchemaVersion {
  int major = 0;
  int minor = 0;
};

struct Program {
  std::string model;  ///< name in the archive, mostly "model"
  Graph graph;
  Signature signature;
  std::vector<ModuleCall> module_calls;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<RangeConstraint> range_constraints;
  std::vector<std::string> guards_code;  ///< Python source, such as "L['y'].size()[0] == 2"
  std::vector<std::string> verifiers;    ///< "TRAINING" (as traced) or "ATEN" (functional)
  std::vector<std::pair<std::string, std::int64_t>> opset_version;
  /// Field names of namedtuples in in_spec and out_spec.
  std::vector<std::pair<std::string, std::vector<std::string>>> namedtuple_fields;
  std::string torch_version;
  SchemaVersion schema_version;
  NameMap<Payload> weights;    ///< keyed by name in the state: parameters and persistent buffers
  NameMap<Payload> constants;  ///< non-persistent buffers, tensor constants, custom objects
};

}  // namespace tern::pt2
