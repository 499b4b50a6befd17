// Dataflow of a function, for passes that recognise a few nodes as one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "schema/def_use.h"

namespace tern {

/// Operand of an operation: a value, or a constant of the expression.
struct ScalarOperand {
  ValueId value = kNoValue;
  double number = 0;  ///< used if there is no value
};

/// Pointwise node that does one operation in `compute`: it may widen its operands to that type, and may round its
/// result. A node that only converts has the `op` Scalar::load.
struct OneOperation {
  Scalar op = Scalar::invalid;
  DType compute = DType::invalid;
  std::array<ScalarOperand, 2> operands;
  int count = 0;  ///< operands
};

class Dataflow {
 public:
  explicit Dataflow(const Function& f);

  /// -1 for inputs.
  std::int64_t producer(ValueId v) const { return def_use_.producer(v); }
  /// True if exactly `nodes` nodes read the value, and the function does not return it.
  bool is_read_by(ValueId v, std::size_t nodes) const { return def_use_.is_read_by_nodes(v, nodes); }
  const TensorType& type(ValueId v) const { return f_.values[static_cast<std::size_t>(v)].type; }
  /// The node of kind `op` whose first result is `v`, or null.
  const Node* made_by(ValueId v, Op op) const;

  std::optional<OneOperation> operation(const Node& n) const;
  std::optional<OneOperation> operation(ValueId v) const;
  /// The value that `v` is a widened copy of, or `v`.
  ValueId before_widening(ValueId v) const;

 private:
  const Function& f_;
  DefUse def_use_;
};

}  // namespace tern
