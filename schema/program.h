// What a program is, in memory: functions over SSA values, the state they share, and where each node came from.
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
inline constexpr ValueId kNoValue = -1;  ///< an optional operand that is absent
inline constexpr int kMaxRank = 16;

/// A tensor's type. With blocks it is a quantized value: `dtype` elements of the logical shape, followed in memory by
/// the blocks' scales and zero points.
struct TensorType {
  DType dtype = DType::invalid;
  Dims shape;
  Blocks blocks{};

  bool quantized() const { return blocks.columns != 0; }
  /// Elements that share bytes or lie beside scales: no view of a part.
  bool packed() const { return quantized() || elements_per_byte(dtype) > 1; }
  int rank() const { return static_cast<int>(shape.size()); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

struct Value {
  TensorType type;
  std::string name;  ///< for people; need not be unique
};

using AttrData = std::variant<Dims, std::vector<double>, std::string>;
struct Attr {
  AttrKey key{};
  AttrData data;
  friend bool operator==(const Attr&, const Attr&) = default;
};

/// A note of the user's on a node.
struct Annotation {
  std::string key;
  std::variant<std::int64_t, double, bool, std::string> value;
  friend bool operator==(const Annotation&, const Annotation&) = default;
};

/// Where a node came from, for messages.
struct Origin {
  std::string op;      ///< "aten.linear.default"
  std::string module;  ///< "encoder.layers.0.fc1"
  std::string source;  ///< "model.py:42"
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct Node {
  Op op = Op::invalid;
  std::int32_t version = 1;
  std::vector<ValueId> inputs;   ///< kNoValue where an optional operand is absent
  std::vector<ValueId> outputs;  ///< kNoValue for an unused output
  std::vector<Attr> attrs;
  std::vector<std::uint32_t>
      functions;       ///< bodies: cond {true, false}, while_loop {condition, body}, scan_loop, map_loop, call {body}
  PointwiseExpr expr;  ///< of a pointwise node
  std::int32_t origin = -1;  ///< number in Program::origins, or -1
  std::vector<Annotation> annotations;

  const AttrData* find(AttrKey key) const;
  bool has(AttrKey key) const { return find(key) != nullptr; }
  // What the node carries. An absent list or text is empty; an absent number has the default of the op's record
  // (schema/op_record.h), or is 0.
  const Dims& dims(AttrKey key) const;
  Dim dim(AttrKey key) const;                                 ///< the only one
  std::int64_t integer(AttrKey key) const;                    ///< as dim, of an attribute that must be a constant
  std::int64_t integer_at(AttrKey key, std::size_t i) const;  ///< of a list, whose default is that of each element
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
    none =
        2,  ///< a place in the caller's list that the program does not read (None, or a constant it was specialised to)
  };
  Kind kind = Kind::user;
  ValueId value = kNoValue;
  std::uint32_t state = 0;
  std::string name;
  std::string constant;  ///< kind none: the value that export fixed, as Python text
};

struct FunctionOutput {
  enum class Kind : std::uint8_t { tensor = 0, integer = 1, number = 2, boolean = 3, none = 4 };
  Kind kind = Kind::tensor;  ///< what Python returned; numbers are tensors of no dimensions here
  ValueId value = kNoValue;
  std::string name;
};

/// After a run, `value` becomes the new content of a state or of an input tensor of the caller's.
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
  std::vector<Node> nodes;  ///< in an order that can be executed: a value is defined before it is read, and once
  std::string in_tree,
      out_tree;  ///< PyTorch's description of how nested inputs and outputs are flattened (JSON), may be empty
};

/// A run of bytes that states view. `size` bytes, from the program's source.
struct Storage {
  std::uint64_t size = 0;
};

/// A named tensor that lives with the program: a view of a storage. Two states may view one storage: a write through
/// one is then seen through the other.
struct State {
  enum class Kind : std::uint8_t { parameter = 0, buffer = 1, constant = 2 };
  std::string name;
  Kind kind = Kind::parameter;
  TensorType type;                    ///< the shape is constant
  std::uint32_t storage = 0;          ///< number in Program::storages
  std::vector<std::int64_t> strides;  ///< in elements
  std::int64_t offset = 0;            ///< in elements
  bool is_mutable = false;            ///< some function writes it back
  bool persistent = true;             ///< part of PyTorch's state_dict
  std::int32_t tied = -1;             ///< the earlier state that is the same tensor (tied parameters), or -1
};

/// Gives the bytes of storages. Implementations verify or decompress lazily; the spans stay valid while the source
/// lives. Thread-safe.
class StorageSource {
 public:
  virtual ~StorageSource() = default;
  virtual std::span<const std::byte> bytes(std::uint32_t storage) = 0;
  /// Where the bytes lie, unchecked: for handing to code that calls bytes() before it reads them.
  virtual const std::byte* address(std::uint32_t storage) { return bytes(storage).data(); }
  /// The pages will not be needed again soon (they were packed): the source may give them back to the system.
  virtual void release(std::uint32_t storage) {}
  /// Text that no other bytes share, on this machine and at any time: a key for what is derived from the bytes. Empty
  /// if nothing but the bytes themselves says which they are.
  virtual std::string identity(std::uint32_t storage) const { return {}; }
};

/// A weight in the layout that one kernel wants, made at export so that nothing is packed at load.
struct Packing {
  std::uint32_t storage = 0;  ///< of the weight as it was exported
  std::string key;  ///< the kernel's description of the layout, library version included; another build ignores it
  std::uint32_t packed = 0;  ///< the storage with the packed bytes
};

/// A kernel of a device, compiled at export. It is found by the hash of the text that the runtime would have compiled.
struct DeviceKernel {
  std::string name;                           ///< of its entry point
  std::string target;                         ///< "xpu:spirv", "cuda:sm_90"; targets that are not known are for others
  std::uint64_t text_low = 0, text_high = 0;  ///< XXH3-128 of the text
  std::uint32_t storage = 0;                  ///< the module's bytes
};

/// What a processor does nodes by, as was measured at export (`tern export --tune`).
struct Tuning {
  struct Choice {
    std::uint32_t function = 0, node = 0;
    std::string algorithm;  ///< a name of kernels/algorithm.h; others are for other versions
  };
  std::string processor;      ///< cpu::processor() there
  std::uint32_t threads = 0;  ///< of its runs
  std::vector<Choice> choices;
};

struct Program {
  ExprPool pool;
  std::vector<Storage> storages;
  std::vector<State> states;
  std::vector<Packing> packings;
  std::vector<DeviceKernel> kernels;
  std::vector<Tuning> tunings;
  std::vector<Function> functions;
  std::vector<Origin> origins;
  std::vector<std::pair<std::string, std::string>> metadata;  ///< "torch": "2.15.0" and the like
  std::shared_ptr<StorageSource> source;

  /// The number of the entry function of that name, or -1.
  int find_entry(const std::string& name) const;
  const std::string* find_metadata(const std::string& key) const;
};

/// Bytes of a contiguous tensor of this type; false on overflow, a negative or a symbolic size.
bool byte_size(const TensorType& type, std::uint64_t* bytes);
/// Of a quantized type whose sizes are known: the leading axes are the matrix's rows.
QuantizedMatrix quantized_matrix(const TensorType& type);
/// "float32[s0, 8]"
std::string text_of(const TensorType& type, const ExprPool& pool);
/// "node 12 (softmax, from aten.softmax.int in encoder.attn, model.py:42)"
std::string describe(const Program& program, const Function& function, std::size_t node);

}  // namespace tern
