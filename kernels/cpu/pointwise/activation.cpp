#include "kernels/cpu/pointwise/activation.h"

#include <span>

namespace tern::pointwise {
namespace {
namespace activations {

/// An instruction of an expression in Polish notation.
struct Token {
  Scalar op;
  float number = 0;  ///< value of a constant
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

/// Matches the end of an expression with tokens; the token `load` matches any instruction.
class Ending {
 public:
  Ending(const PointwiseExpr& e, std::span<const Token> tokens) : e_(e), tokens_(tokens) {}

  std::optional<std::size_t> argument_of(std::size_t last) {
    return matches(last) && tokens_.empty() ? argument_ : std::nullopt;
  }

 private:
  /// True if instruction `i` matches the front tokens; removes the matched tokens. Sums and products match with
  /// operands in either order.
  bool matches(std::size_t i) {
    const Instruction& n = e_.code[i];
    if (tokens_.empty() || n.dtype != DType::f32) return false;
    const Token token = tokens_.front();
    tokens_ = tokens_.subspan(1);
    if (token.op == load) {
      if (!argument_) argument_ = i;
      return argument_ == i;
    }
    if (n.op != token.op || (n.op == constant && static_cast<float>(n.number) != token.number)) return false;
    if ((n.op == add || n.op == mul) && takes_both(n.b, n.a)) return true;
    const std::uint16_t operands[] = {n.a, n.b, n.c};
    for (int k = 0; k < scalar_info(n.op).operands; ++k) {
      if (!matches(operands[k])) return false;
    }
    return true;
  }
  bool takes_both(std::uint16_t a, std::uint16_t b) {
    const Ending before = *this;
    if (matches(a) && matches(b)) return true;
    tokens_ = before.tokens_;
    argument_ = before.argument_;
    return false;
  }

  const PointwiseExpr& e_;
  std::span<const Token> tokens_;
  std::optional<std::size_t> argument_;
};

struct KnownActivation {
  SelfGatedActivation activation;
  std::span<const Token> tokens;
};
constexpr KnownActivation kSelfGatedTokens[] = {{SelfGatedActivation::hardswish, kHardswish},
                                                {SelfGatedActivation::silu, kSilu},
                                                {SelfGatedActivation::gelu, kGelu},
                                                {SelfGatedActivation::gelu_tanh, kGeluTanh}};

}  // namespace activations
}  // namespace

std::optional<ActivationEnd> activation_end(const PointwiseExpr& expr, std::size_t last) {
  using namespace activations;
  for (const KnownActivation& known : kSelfGatedTokens) {
    if (const auto argument = Ending(expr, known.tokens).argument_of(last))
      return ActivationEnd{known.activation, *argument};
  }
  return std::nullopt;
}

}  // namespace tern::pointwise
