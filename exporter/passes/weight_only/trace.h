// Trace from the operand of a product back to the weight of 8 bits that it is computed of.
#pragma once

#include <optional>
#include <vector>

#include "schema/def_use.h"

namespace tern::weight_only {

/// True for types of 8 bits whose numbers float16 and bfloat16 hold exactly.
bool is_byte(DType t);

/// The weights of 8 bits of a function, and the nodes that compute its values. The function must not change meanwhile.
class ByteWeights {
 public:
  ByteWeights(const Program& program, const Function& function);
  /// The node that computes the value; null for an input.
  const Node* node(ValueId v) const { return def_use_.producing_node(function_, v); }
  /// True if the value is an immutable state whose type is_byte.
  bool is_byte_state(ValueId v) const { return byte_states_[static_cast<std::size_t>(v)]; }
  const TensorType& type(ValueId v) const { return function_.values[static_cast<std::size_t>(v)].type; }

 private:
  const Function& function_;
  DefUse def_use_;
  std::vector<bool> byte_states_;
};

/// Factor of the weight.
struct Scale {
  ValueId value = kNoValue;  ///< a value of float32, float16 or bfloat16
  int rank = 0;              ///< rank of the product; its last axes are the axes of the scale
  std::size_t views = 0;     ///< number of the operand's views before the product
};

/// Operand that is a weight, converted, perhaps scaled, and read through views.
struct ByteOperand {
  ValueId weight = kNoValue;       ///< a state of 8 bits
  std::vector<const Node*> views;  ///< reshape, permute, expand and slice, in their order
  std::optional<Scale> scale;
};

/// Empty for other values, and if a conversion of the weight rounds.
std::optional<ByteOperand> trace(const ByteWeights& weights, ValueId v);

/// Instruction behind conversions.
struct Converted {
  std::size_t instruction = 0;  ///< number of the instruction
  std::vector<DType> dtypes;    ///< types of the conversions
};
/// Leaves out the conversions at the end of instruction `at`.
Converted strip_conversions(const PointwiseExpr& expr, std::size_t index);

}  // namespace tern::weight_only
