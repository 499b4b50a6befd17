#include "schema/expression_of.h"

namespace tern {

Instruction renumbered(Instruction i, std::span<const std::uint16_t> number) {
  const int operands = scalar_info(i.op).operands;
  i.a = operands > 0 ? number[i.a] : std::uint16_t{0};
  i.b = operands > 1 ? number[i.b] : std::uint16_t{0};
  i.c = operands > 2 ? number[i.c] : std::uint16_t{0};
  return i;
}

PointwiseExpr expression_of(const std::vector<Instruction>& code, std::size_t result) {
  std::vector<bool> is_needed(result + 1);
  is_needed[result] = true;
  for (std::size_t k = result + 1; k-- > 0;) {
    if (!is_needed[k]) continue;
    const int operands = scalar_info(code[k].op).operands;
    if (operands > 0) is_needed[code[k].a] = true;
    if (operands > 1) is_needed[code[k].b] = true;
    if (operands > 2) is_needed[code[k].c] = true;
  }
  PointwiseExpr expr;
  std::vector<std::uint16_t> number(result + 1);
  for (std::size_t k = 0; k <= result; ++k) {
    if (!is_needed[k]) continue;
    number[k] = static_cast<std::uint16_t>(expr.code.size());
    expr.code.push_back(renumbered(code[k], number));
  }
  return expr;
}

}  // namespace tern
