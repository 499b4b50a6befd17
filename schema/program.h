// A program in memory: functions over SSA values, shared state, and the origin of each node.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dtypes/blocks.h"
#include "schema/dim.h"
#include "schema/op.h"
#include "schema/pointwise.h"

namespace tern {

using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;  ///< an absent optional operand
inline constexpr int kMaxRank = 16;

/// A tensor's type. With blocks, a quantized value: `dtype` elements of the logical shape, followed in memory by the
/// blocks' scales and zero points.
struct TensorType {
  DType dtype = DType::invalid;
  Dims shape;
  Blocks blocks{};

  bool quantized() const { return blocks.columns != 0; }
  /// True for elements sharing bytes or stored with scales: parts cannot be viewed.
  bool packed() const { return quantized() || elements_per_byte(dtype) > 1; }
  int rank() const { return static_cast<int>(shape.size()); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

struct Value {
  TensorType type;
  std::string name;  ///< used in messages; need not be unique
};

using AttrData = std::variant<Dims, std::vector<double>, std::string>;
struct Attr {
  AttrKey key{};
  AttrData data;
  friend bool operator==(const Attr&, const Attr&) = default;
};

/// A user's annotation of a node.
struct Annotation {
  std::string key;
  std::variant<std::int64_t, double, bool, std::string> value;
  friend bool operator==(const Annotation&, const Annotation&) = default;
};

/// Origin of a node, for messages.
struct Origin {
  std::string op;      ///< "aten.linear.default"
  std::string module;  ///< "encoder.layers.0.fc1"
  std::string source;  ///< "model.py:42"
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct Node {
  Op op = Op::invalid;
  std::int32_t version = 1;
  std::vector<ValueId> inputs;   ///< kNoValue for an absent optional operand
  std::vector<ValueId> outputs;  ///< kNoValue for an unused output
  std::vector<Attr> attrs;
  std::vector<std::uint32_t>
      functions;       ///< bodies: cond {true, false}, while_loop {condition, body}, scan_loop, map_loop, call {body}
  PointwiseExpr expr;  ///< expression of a pointwise node
  std::int32_t origin = -1;  ///< number in Program::origins, or -1
  std::vector<Annotation> annotations;

  const AttrData* find(AttrKey key) const;
  bool has(AttrKey key) const { return find(key) != nullptr; }
  // Attributes of the node. Absent lists and texts are empty; absent numbers have the default of the op's record
  // (schema/op_record.h), or 0.
  const Dims& dims(AttrKey key) const;
  Dim dim(AttrKey key) const;                                 ///< the only element
  std::int64_t integer(AttrKey key) const;                    ///< like dim, for a constant attribute
  std::int64_t integer_at(AttrKey key, std::size_t i) const;  ///< list element; the default applies to each
  const std::vector<double>& numbers(AttrKey key) const;
  double number(AttrKey key) const { return number_at(key, 0); }
  double number_at(AttrKey key, std::size_t i) const;
  const std::string& text(AttrKey key) const;
  void set(AttrKey key, AttrData data);
};

struct FunctionInput {
  enum class Kind : std::uint8_t {
    user = 0,   ///< given by the caller
    state = 1,  ///< Program::states[state]
    none = 2,   ///< a position in the caller's list not read by the program (None, or a constant of the specialisation)
  };
  Kind kind = Kind::user;
  ValueId value = kNoValue;
  std::uint32_t state = 0;
  std::string name;
  std::string constant;  ///< kind none: the value fixed by export, as Python text
};

struct FunctionOutput {
  enum class Kind : std::uint8_t { tensor = 0, integer = 1, number = 2, boolean = 3, none = 4 };
  Kind kind = Kind::tensor;  ///< type returned by Python; numbers are zero-dimensional tensors here
  ValueId value = kNoValue;
  std::string name;
};

/// After a run, `value` becomes the new content of a state or of the caller's input tensor.
struct WriteBack {
  enum class Target : std::uint8_t { state = 0, input = 1 };
  Target target = Target::state;
  std::uint32_t index = 0;  ///< number of the state, or position in Function::inputs
  ValueId value = kNoValue;
};

struct Function {
  std::string name;
  bool entry = false;  ///< callable from outside
  std::vector<Value> values;
  std::vector<FunctionInput> inputs;
  std::vector<FunctionOutput> outputs;
  std::vector<WriteBack> writebacks;
  std::vector<Node> nodes;  ///< executable order: each value is defined once, before its use
  std::string in_tree,
      out_tree;  ///< PyTorch's flattening of nested inputs and outputs (JSON), may be empty
};

/// A run of bytes viewed by states: `size` bytes from the program's source.
struct Storage {
  std::uint64_t size = 0;
};

/// A named tensor of the program: a view of a storage. States sharing a storage see each other's writes.
struct State {
  enum class Kind : std::uint8_t { parameter = 0, buffer = 1, constant = 2 };
  std::string name;
  Kind kind = Kind::parameter;
  TensorType type;                    ///< the shape is constant
  std::uint32_t storage = 0;          ///< number in Program::storages
  std::vector<std::int64_t> strides;  ///< strides in elements
  std::int64_t offset = 0;            ///< offset in elements
  bool is_mutable = false;            ///< true if some function writes the state back
  bool persistent = true;             ///< part of PyTorch's state_dict
  std::int32_t tied = -1;             ///< the earlier state identical to this tensor (tied parameters), or -1
};

/// Source of storage bytes. Implementations verify or decompress lazily; spans stay valid during the source's life.
/// Thread-safe.
class StorageSource {
 public:
  virtual ~StorageSource() = default;
  virtual std::span<const std::byte> bytes(std::uint32_t storage) = 0;
  /// Address of the unchecked bytes, for code that calls bytes() before reading.
  virtual const std::byte* address(std::uint32_t storage) { return bytes(storage).data(); }
  /// Announces that the pages are not needed soon (after packing): the source may return them to the system.
  virtual void release(std::uint32_t storage) {}
  /// A text unique to these bytes on this machine, at all times: a key for data derived from the bytes. Empty if only
  /// the bytes themselves identify them.
  virtual std::string identity(std::uint32_t storage) const { return {}; }
};

/// A weight in the layout of one kernel, created at export to avoid packing at load.
struct Packing {
  std::uint32_t storage = 0;  ///< storage of the exported weight
  std::string key;            ///< describes the layout and the library version; other builds ignore the packing
  std::uint32_t packed = 0;   ///< the storage with the packed bytes
};

/// A device kernel compiled at export, found by the hash of its source text.
struct DeviceKernel {
  std::string name;                           ///< name of the entry point
  std::string target;                         ///< "xpu:spirv", "cuda:sm_90"; unknown targets are ignored
  std::uint64_t text_low = 0, text_high = 0;  ///< XXH3-128 of the source text
  std::uint32_t storage = 0;                  ///< the module's bytes
};

/// Algorithms of a processor for nodes, measured at export (`tern export --tune`).
struct Tuning {
  struct Choice {
    std::uint32_t function = 0, node = 0;
    std::string algorithm;  ///< a name of kernels/algorithm.h; unknown names belong to other versions
  };
  std::string processor;      ///< cpu::processor() of the measuring machine
  std::uint32_t threads = 0;  ///< thread count of the measured runs
  std::vector<Choice> choices;
};

/// A file carried for applications, such as the tokenizer of a language model (schema/attached_file.h).
struct AttachedFile {
  std::string name;           ///< "tokenizer.json"; unknown names are allowed
  std::uint32_t storage = 0;  ///< the file's bytes
};

struct Program {
  ExprPool pool;
  std::vector<Storage> storages;
  std::vector<State> states;
  std::vector<Packing> packings;
  std::vector<DeviceKernel> kernels;
  std::vector<Tuning> tunings;
  std::vector<AttachedFile> files;
  std::vector<Function> functions;
  std::vector<Origin> origins;
  std::vector<std::pair<std::string, std::string>> metadata;  ///< "torch": "2.15.0" and the like
  std::shared_ptr<StorageSource> source;

  /// Number of the entry function of that name, or -1.
  int find_entry(const std::string& name) const;
  const std::string* find_metadata(const std::string& key) const;
};

/// Bytes of a contiguous tensor of this type; false on overflow, a negative or a symbolic size.
bool byte_size(const TensorType& type, std::uint64_t* bytes);
/// Matrix of a quantized type with known sizes: the leading axes are the matrix's rows.
QuantizedMatrix quantized_matrix(const TensorType& type);
/// "float32[s0, 8]"
std::string text_of(const TensorType& type, const ExprPool& pool);
/// "node 12 (softmax, from aten.softmax.int in encoder.attn, model.py:42)"
std::string describe(const Program& program, const Function& function, std::size_t node);

}  // namespace tern
