// From the operand of a product back to the weight of 8 bits that it is made of.
#pragma once

#include <optional>
#include <vector>

#include "schema/program.h"

namespace tern::weight_only {

/// Whether elements of the type have 8 bits and are numbers that float16 and bfloat16 hold exactly.
bool is_byte(DType t);

/// Who makes the values of a function, from its nodes and inputs as they are when it is built.
class Producers {
 public:
  Producers(const Program& program, const Function& function);
  /// The node that makes the value; null for an input.
  const Node* node(ValueId v) const { return nodes_[static_cast<std::size_t>(v)]; }
  /// Whether the value is an immutable state whose type is_byte.
  bool is_byte_state(ValueId v) const { return byte_states_[static_cast<std::size_t>(v)]; }
  const TensorType& type(ValueId v) const { return types_[static_cast<std::size_t>(v)]; }

 private:
  std::vector<const Node*> nodes_;
  std::vector<bool> byte_states_;
  std::vector<TensorType> types_;
};

/// What the weight is multiplied by.
struct Scale {
  ValueId value = kNoValue;  ///< of float32, float16 or bfloat16
  int rank = 0;              ///< of the product: the scale's axes are its last ones
  std::size_t views = 0;     ///< how many of the operand's views come before the product
};

/// An operand that is a weight, converted, perhaps scaled, and seen through views.
struct ByteOperand {
  ValueId weight = kNoValue;       ///< a state of 8 bits
  std::vector<const Node*> views;  ///< reshape, permute, expand and slice, in their order
  std::optional<Scale> scale;
};

/// None where the value is something else, or a conversion of the weight rounds.
std::optional<ByteOperand> trace(const Producers& producers, ValueId v);

/// An instruction behind conversions.
struct Converted {
  std::size_t at = 0;         ///< number of the instruction
  std::vector<DType> dtypes;  ///< to which it is converted
};
/// Leaves out the conversions at the end of instruction `at`.
Converted without_conversions(const PointwiseExpr& expr, std::size_t at);

}  // namespace tern::weight_only
