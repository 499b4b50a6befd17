// Merges several pointwise expressions over values of a function into one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Operand of an epilogue's expression: the result of the op with the epilogue.
inline constexpr ValueId kOwnResult = -2;

class ExpressionBuilder {
 public:
  /// Returns the instruction that loads the value. Operands are numbered in the order of their first load.
  std::uint16_t load(ValueId v, DType dtype);
  /// Appends an expression with load k replaced by instruction loads[k], and returns the number of its result. Reuses
  /// existing equal instructions. `one_element`: the expression had a one-element result, now broadcast.
  std::uint16_t append(const PointwiseExpr& expr, std::span<const std::uint16_t> loads, bool one_element = false);
  /// Returns the whole expression without instructions unused by `result`.
  PointwiseExpr finish(std::uint16_t result) const;
  const std::vector<ValueId>& operands() const { return operands_; }

 private:
  std::uint16_t push(const Instruction& i);

  std::vector<ValueId> operands_;
  std::vector<Instruction> code_;
};

}  // namespace tern
