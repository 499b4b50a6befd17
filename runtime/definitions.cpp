#include "runtime/definitions.h"

#include <algorithm>
#include <utility>

namespace tern {
namespace {

/// Removes instruction `gone`; no instruction may read it.
void erase(std::vector<Instruction>& code, std::uint16_t gone) {
  code.erase(code.begin() + gone);
  for (std::size_t i = gone; i < code.size(); ++i) {
    for (std::uint16_t* operand : {&code[i].a, &code[i].b, &code[i].c}) *operand -= *operand > gone ? 1 : 0;
  }
}

int read_count(const std::vector<Instruction>& code, std::uint16_t k) {
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
    if (read_count(code, sum.b) != 1 || read_count(code, quotient.a) != 1) continue;
    const Instruction product = code[quotient.a];
    code[sum.b] = {.op = Scalar::div, .dtype = sum.dtype, .a = product.b, .b = quotient.b};
    code[i] = {.op = Scalar::fma, .dtype = sum.dtype, .a = product.a, .b = sum.b, .c = sum.a};
    erase(code, quotient.a);
    return;
  }
}

/// True if the expression may be a lerp: either side of it, which a constant weight has chosen, or both.
bool may_be_lerp(const std::vector<Instruction>& code) {
  return has_three_steps(code) || std::ranges::any_of(code, [](const Instruction& i) { return i.op == Scalar::where; });
}

/// Finds the factors of code[product] = difference * other, where the difference has `end` as operand a or b.
bool find_factors(const std::vector<Instruction>& code, std::uint16_t product, std::uint16_t Instruction::*operand,
                  std::uint16_t end, std::uint16_t* difference, std::uint16_t* other) {
  const Instruction p = code[product];
  if (p.op != Scalar::mul || read_count(code, product) != 1) return false;
  for (const auto& [d, o] : {std::pair(p.b, p.a), std::pair(p.a, p.b)}) {
    if (code[d].op != Scalar::sub || code[d].*operand != end) continue;
    *difference = d;
    *other = o;
    return true;
  }
  return false;
}

/// Replaces x + w * (y - x) and y - (y - x) * v by fma.
void round_lerp_once(std::vector<Instruction>& code) {
  if (!may_be_lerp(code)) return;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const Instruction sum = code[i];
    std::uint16_t difference = 0, other = 0;
    if (!is_floating(sum.dtype)) continue;
    if (sum.op == Scalar::add && find_factors(code, sum.b, &Instruction::b, sum.a, &difference, &other)) {
      code[i] = {.op = Scalar::fma, .dtype = sum.dtype, .a = other, .b = difference, .c = sum.a};
      erase(code, sum.b);
      --i;
    } else if (sum.op == Scalar::sub && find_factors(code, sum.b, &Instruction::a, sum.a, &difference, &other)) {
      code[sum.b] = {.op = Scalar::neg, .dtype = sum.dtype, .a = difference};
      code[i] = {.op = Scalar::fma, .dtype = sum.dtype, .a = sum.b, .b = other, .c = sum.a};
    }
  }
}

}  // namespace

Function apply_gpu_rounding(Function f) {
  f = apply_definitions(std::move(f));
  for (Node& n : f.nodes) {
    if (n.op == Op::pointwise) round_lerp_once(n.expr.code);
  }
  return f;
}

Function apply_definitions(Function f) {
  for (Node& n : f.nodes) {
    if (n.op == Op::pointwise && has_three_steps(n.expr.code)) divide_first(n.expr.code);
  }
  return f;
}

}  // namespace tern
