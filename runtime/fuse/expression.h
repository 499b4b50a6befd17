// Builds one pointwise expression out of several, over operands that are values of a function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Stands for the result of the op that an epilogue belongs to, among the operands of an expression.
inline constexpr ValueId kOwnResult = -2;

class ExpressionBuilder {
 public:
  /// The instruction that reads the value. Operands are numbered in the order in which they are first asked for.
  std::uint16_t load(ValueId v, DType dtype);
  /// Appends an expression whose load k is instruction loads[k], and gives the number of its result. Instructions that
  /// are there already are not repeated. `one_element`: the expression had a result of one element, which is now
  /// broadcast.
  std::uint16_t append(const PointwiseExpr& expr, std::span<const std::uint16_t> loads, bool one_element = false);
  /// The whole, without what `result` does not depend on.
  PointwiseExpr finish(std::uint16_t result) const;
  const std::vector<ValueId>& operands() const { return operands_; }

 private:
  std::uint16_t push(const Instruction& i);

  std::vector<ValueId> operands_;
  std::vector<Instruction> code_;
};

}  // namespace tern
