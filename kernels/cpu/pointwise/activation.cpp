#include "kernels/cpu/pointwise/activation.h"

#include <span>

namespace tern::pointwise {
namespace {

/// An instruction of an expression in Polish notation.
struct Token {
  Scalar op;
  float number = 0;  ///< of a constant
};

using enum Scalar;
// x * (min(max(x + 3, 0), 6) * (1 / 6)) and x / (1 + exp(-x))
constexpr Token kHardswish[] = {{mul},
                                {load},
                                {mul},
                                {min},
                                {max},
                                {add},
                                {load},
                                {constant, 3},
                                {constant, 0},
                                {constant, 6},
                                {constant, 1.0F / 6.0F}};
constexpr Token kSilu[] = {{div}, {load}, {add}, {constant, 1}, {exp}, {neg}, {load}};

/// Whether the expression that instruction `i` makes begins the tokens, which are then taken away.
bool takes(const PointwiseExpr& e, std::size_t i, std::span<const Token>& tokens) {
  const Instruction& n = e.code[i];
  if (tokens.empty() || n.op != tokens.front().op || n.dtype != DType::f32) return false;
  if (n.op == load && n.integer != 0) return false;
  if (n.op == constant && static_cast<float>(n.number) != tokens.front().number) return false;
  tokens = tokens.subspan(1);
  const std::uint16_t operands[] = {n.a, n.b, n.c};
  for (int k = 0; k < scalar_info(n.op).operands; ++k) {
    if (!takes(e, operands[k], tokens)) return false;
  }
  return true;
}

}  // namespace

std::optional<Activation> activation_of(const PointwiseExpr& expr) {
  const auto is = [&](std::span<const Token> tokens) {
    return takes(expr, expr.code.size() - 1, tokens) && tokens.empty();
  };
  if (is(kHardswish)) return Activation::hardswish;
  if (is(kSilu)) return Activation::silu;
  return std::nullopt;
}

}  // namespace tern::pointwise
