#include "runtime/fuse/expression.h"

#include <algorithm>

namespace tern {
namespace {

/// Copies the instruction with renumbered operands.
Instruction renumbered(Instruction i, std::span<const std::uint16_t> number) {
  const int operands = scalar_info(i.op).operands;
  i.a = operands > 0 ? number[i.a] : std::uint16_t{0};
  i.b = operands > 1 ? number[i.b] : std::uint16_t{0};
  i.c = operands > 2 ? number[i.c] : std::uint16_t{0};
  return i;
}

}  // namespace

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
  std::vector<bool> needed(code_.size());
  needed[result] = true;
  for (std::size_t k = std::size_t{result} + 1; k-- > 0;) {
    if (!needed[k]) continue;
    const int operands = scalar_info(code_[k].op).operands;
    if (operands > 0) needed[code_[k].a] = true;
    if (operands > 1) needed[code_[k].b] = true;
    if (operands > 2) needed[code_[k].c] = true;
  }
  PointwiseExpr expr;
  std::vector<std::uint16_t> number(code_.size());
  for (std::size_t k = 0; k <= result; ++k) {
    if (!needed[k]) continue;
    number[k] = static_cast<std::uint16_t>(expr.code.size());
    expr.code.push_back(renumbered(code_[k], number));
  }
  return expr;
}

}  // namespace tern
