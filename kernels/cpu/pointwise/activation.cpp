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
// 0.5 * x * (1 + erf(x * sqrt(1 / 2))) and 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * (x * x * x))))
constexpr Token kGelu[] = {{mul},
                           {mul},
                           {constant, 0.5F},
                           {load},
                           {add},
                           {constant, 1},
                           {erf},
                           {mul},
                           {load},
                           {constant, 0.70710678118654752440F}};
constexpr Token kGeluTanh[] = {{mul},
                               {mul},
                               {constant, 0.5F},
                               {load},
                               {add},
                               {constant, 1},
                               {tanh},
                               {mul},
                               {constant, 0.79788456080286535588F},
                               {add},
                               {load},
                               {mul},
                               {constant, 0.044715F},
                               {mul},
                               {mul},
                               {load},
                               {load},
                               {load}};

bool takes(const PointwiseExpr& e, std::size_t i, std::span<const Token>& tokens);

bool takes_both(const PointwiseExpr& e, std::uint16_t a, std::uint16_t b, std::span<const Token>& tokens) {
  const std::span<const Token> all = tokens;
  if (takes(e, a, tokens) && takes(e, b, tokens)) return true;
  tokens = all;
  return false;
}

/// Whether the expression that instruction `i` makes begins the tokens, which are then taken away. Sums and products
/// may have their operands the other way round.
bool takes(const PointwiseExpr& e, std::size_t i, std::span<const Token>& tokens) {
  const Instruction& n = e.code[i];
  if (tokens.empty() || n.op != tokens.front().op || n.dtype != DType::f32) return false;
  if (n.op == load && n.integer != 0) return false;
  if (n.op == constant && static_cast<float>(n.number) != tokens.front().number) return false;
  tokens = tokens.subspan(1);
  if ((n.op == add || n.op == mul) && takes_both(e, n.b, n.a, tokens)) return true;
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
  if (is(kGelu)) return Activation::gelu;
  if (is(kGeluTanh)) return Activation::gelu_tanh;
  return std::nullopt;
}

}  // namespace tern::pointwise
