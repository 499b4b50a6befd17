#include "runtime/definitions.h"

#include <algorithm>

namespace tern {
namespace {

/// Removes instruction `gone`; no instruction may read it.
void erase(std::vector<Instruction>& code, std::uint16_t gone) {
  code.erase(code.begin() + gone);
  for (std::size_t i = gone; i < code.size(); ++i) {
    for (std::uint16_t* operand : {&code[i].a, &code[i].b, &code[i].c}) *operand -= *operand > gone ? 1 : 0;
  }
}

int reads(const std::vector<Instruction>& code, std::uint16_t k) {
  int n = 0;
  for (const Instruction& i : code) {
    const int operands = scalar_info(i.op).operands;
    n += (operands > 0 && i.a == k) + (operands > 1 && i.b == k) + (operands > 2 && i.c == k);
  }
  return n;
}

/// True if the expression consists of exactly a sum, a quotient and a product.
bool has_three_steps(const std::vector<Instruction>& code) {
  return std::ranges::count_if(
             code, [](const Instruction& i) { return scalar_info(i.op).operands > 0 && i.op != Scalar::convert; }) == 3;
}

/// Replaces x + (v * a) / b by fma(v, a / b, x).
void divide_first(std::vector<Instruction>& code) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    const Instruction sum = code[i];
    if (sum.op != Scalar::add || !is_floating(sum.dtype)) continue;
    const Instruction quotient = code[sum.b];
    if (quotient.op != Scalar::div || code[quotient.a].op != Scalar::mul) continue;
    if (reads(code, sum.b) != 1 || reads(code, quotient.a) != 1) continue;
    const Instruction product = code[quotient.a];
    code[sum.b] = {.op = Scalar::div, .dtype = sum.dtype, .a = product.b, .b = quotient.b};
    code[i] = {.op = Scalar::fma, .dtype = sum.dtype, .a = product.a, .b = sum.b, .c = sum.a};
    erase(code, quotient.a);
    return;
  }
}

}  // namespace

Function with_definitions(Function f) {
  for (Node& n : f.nodes) {
    if (n.op == Op::pointwise && has_three_steps(n.expr.code)) divide_first(n.expr.code);
  }
  return f;
}

}  // namespace tern
