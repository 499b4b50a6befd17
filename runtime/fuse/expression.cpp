#include "runtime/fuse/expression.h"

#include <algorithm>

#include "schema/expression_of.h"

namespace tern {

std::uint16_t ExpressionBuilder::push(const Instruction& i) {
  const auto found = std::ranges::find(code_, i);
  const auto at = static_cast<std::uint16_t>(found - code_.begin());
  if (found == code_.end()) code_.push_back(i);
  return at;
}

std::uint16_t ExpressionBuilder::load(ValueId v, DType dtype) {
  const auto found = std::ranges::find(operands_, v);
  Instruction i;
  i.op = Scalar::load;
  i.dtype = dtype;
  i.integer = found - operands_.begin();
  if (found == operands_.end()) operands_.push_back(v);
  return push(i);
}

std::uint16_t ExpressionBuilder::append(const PointwiseExpr& expr, std::span<const std::uint16_t> loads,
                                        bool one_element) {
  std::vector<std::uint16_t> number(expr.code.size());
  for (std::size_t k = 0; k < expr.code.size(); ++k) {
    Instruction i = renumbered(expr.code[k], number);
    if (i.op == Scalar::load) {
      number[k] = loads[static_cast<std::size_t>(i.integer)];
      continue;
    }
    if (one_element && i.op == Scalar::index) {  // the only position
      i.op = Scalar::constant;
      i.integer = 0;
    }
    number[k] = push(i);
  }
  return number.back();
}

PointwiseExpr ExpressionBuilder::finish(std::uint16_t result) const {
  return expression_of(code_, result);
}

}  // namespace tern
