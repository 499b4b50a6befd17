// Operators defined by one expression over their arguments, by the schema's names.
#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>

#include "exporter/lower/pointwise.h"

namespace tern {
namespace {

struct Row {
  std::string_view names;      ///< operators, the usual one first
  std::string_view overloads;  ///< existing overloads among the candidates
  std::string_view text;
  ComputeIn compute = ComputeIn::result;
};

constexpr auto kPointwiseTableFactors = ComputeIn::factors;
constexpr auto kOperands = ComputeIn::operands;
constexpr auto kSelf = ComputeIn::self;
constexpr auto kFloating = ComputeIn::floating;
constexpr auto kBoolean = ComputeIn::boolean;

constexpr std::string_view kOne = "default";
constexpr std::string_view kTwo =
    "default Tensor Scalar Tensor_Scalar Scalar_Tensor Scalar_Self Scalar_Other other "
    "Tensor_Tensor n_scalar x_scalar other_scalar self_scalar";

// clang-format off
constexpr std::array kPointwiseTableRows = {
    // arithmetic
    Row{"add", kTwo, "self + rounded(alpha) * other"},
    Row{"sub subtract", kTwo, "self - rounded(alpha) * other"},
    Row{"rsub", kTwo, "other - rounded(alpha) * self"},
    Row{"mul multiply", kTwo, "self * other", kPointwiseTableFactors},
    Row{"div divide true_divide", kTwo, "self / other", kPointwiseTableFactors},
    Row{"remainder", kTwo, "remainder(self, other)"},
    Row{"fmod", kTwo, "fmod(self, other)"},
    Row{"neg negative _neg_view _neg_view_copy", kOne, "-self"},
    Row{"reciprocal", kOne, "reciprocal(self)"},
    Row{"square", kOne, "self * self"},
    Row{"addcmul", kOne, "self + value * tensor1 * tensor2"},
    Row{"addcdiv", kOne, "self + value * tensor1 / tensor2"},
    Row{"lerp", "Tensor Scalar", "abs(weight) < 0.5 ? self + weight * (end - self) : end - (end - self) * (1 - weight)"},
    Row{"float_power", kTwo, "pow(self, exponent)"},
    Row{"pow", "Tensor_Tensor Scalar", "pow(self, exponent)"},
    Row{"hypot", kOne, "hypot(self, other)"},
    Row{"maximum", kOne, "max(self, other)"},
    Row{"max", "other", "max(self, other)"},
    Row{"min", "other", "min(self, other)"},
    Row{"minimum", kOne, "min(self, other)"},
    Row{"fmax", kOne, "fmax(self, other)"},
    Row{"fmin", kOne, "fmin(self, other)"},
    Row{"gcd", kOne, "gcd(self, other)"},
    Row{"lcm", kOne, "lcm(self, other)"},
    Row{"copysign", kTwo, "copysign(self, other)"},
    Row{"atan2 arctan2", kOne, "atan2(self, other)"},
    Row{"xlogy special_xlogy", kTwo, "isnan(other) ? nan : self == 0 ? 0 : self * rounded(log(other))"},
    Row{"special_xlog1py", kTwo, "isnan(other) ? nan : self == 0 ? 0 : self * rounded(log1p(other))"},
    Row{"heaviside", kOne, "self == 0 ? values : self > 0 ? 1 : 0"},
    // comparisons
    Row{"eq", kTwo, "self == other", kOperands},
    Row{"ne not_equal", kTwo, "self != other", kOperands},
    Row{"lt less", kTwo, "self < other", kOperands},
    Row{"le less_equal", kTwo, "self <= other", kOperands},
    Row{"gt greater", kTwo, "self > other", kOperands},
    Row{"ge greater_equal", kTwo, "self >= other", kOperands},
    Row{"logical_and", kOne, "self && other", kBoolean},
    Row{"logical_or", kOne, "self || other", kBoolean},
    Row{"logical_xor", kOne, "bool(self) ^ bool(other)", kBoolean},
    Row{"logical_not", kOne, "!self", kBoolean},
    // bits
    Row{"bitwise_and __and__", kTwo, "self & other"},
    Row{"bitwise_or __or__", kTwo, "self | other"},
    Row{"bitwise_xor __xor__", kTwo, "self ^ other"},
    Row{"bitwise_not", kOne, "~self"},
    // choices
    Row{"where", "self Scalar ScalarOther ScalarSelf", "condition ? self : other"},
    Row{"masked_fill", "Scalar Tensor", "mask ? value : self"},
    Row{"threshold", kOne, "self <= threshold ? value : self"},
    // roots, exponentials, logarithms
    Row{"sqrt", kOne, "sqrt(self)"},
    Row{"rsqrt", kOne, "rsqrt(self)"},
    Row{"exp", kOne, "exp(self)"},
    Row{"exp2 special_exp2", kOne, "exp2(self)"},
    Row{"expm1 special_expm1", kOne, "expm1(self)"},
    Row{"log", kOne, "log(self)"},
    Row{"log2", kOne, "log2(self)"},
    Row{"log10", kOne, "log10(self)"},
    Row{"log1p special_log1p", kOne, "log1p(self)"},
    Row{"sigmoid special_expit", kOne, "sigmoid(self)"},
    Row{"special_entr", kOne, "isnan(self) ? self : self > 0 ? -self * log(self) : self == 0 ? 0 : -inf"},
    // circular and hyperbolic
    Row{"sin", kOne, "sin(self)"},
    Row{"cos", kOne, "cos(self)"},
    Row{"tan", kOne, "tan(self)"},
    Row{"asin arcsin", kOne, "asin(self)"},
    Row{"acos arccos", kOne, "acos(self)"},
    Row{"atan arctan", kOne, "atan(self)"},
    Row{"sinh", kOne, "sinh(self)"},
    Row{"cosh", kOne, "cosh(self)"},
    Row{"tanh", kOne, "tanh(self)"},
    Row{"asinh arcsinh", kOne, "asinh(self)"},
    Row{"acosh arccosh", kOne, "acosh(self)"},
    Row{"atanh arctanh", kOne, "atanh(self)"},
    Row{"sinc special_sinc", kOne, "self == 0 ? 1 : sin(pi * self) / (pi * self)"},
    Row{"deg2rad", kOne, "self * (pi / 180)"},
    Row{"rad2deg", kOne, "self * (180 / pi)"},
    // error and gamma functions
    Row{"erf special_erf", kOne, "erf(self)"},
    Row{"erfc special_erfc", kOne, "erfc(self)"},
    Row{"erfinv special_erfinv", kOne, "erfinv(self)"},
    Row{"special_erfcx", kOne, "erfcx(self)"},
    Row{"special_ndtri", kOne, "ndtri(self)"},
    Row{"special_log_ndtr", kOne, "log_ndtr(self)"},
    Row{"lgamma special_gammaln", kOne, "lgamma(self)"},
    Row{"digamma special_digamma special_psi", kOne, "digamma(self)"},
    Row{"polygamma special_polygamma", kOne, "polygamma(n, self)"},
    Row{"igamma special_gammainc", kOne, "igamma(self, other)"},
    Row{"igammac special_gammaincc", kOne, "igammac(self, other)"},
    Row{"special_zeta", kTwo, "zeta(self, other)"},
    // Bessel functions
    Row{"i0 special_i0 special_modified_bessel_i0", kOne, "i0(self)"},
    Row{"special_i0e", kOne, "i0e(self)"},
    Row{"special_i1 special_modified_bessel_i1", kOne, "i1(self)"},
    Row{"special_i1e", kOne, "i1e(self)"},
    Row{"special_bessel_j0", kOne, "bessel_j0(self)"},
    Row{"special_bessel_j1", kOne, "bessel_j1(self)"},
    Row{"special_bessel_y0", kOne, "bessel_y0(self)"},
    Row{"special_bessel_y1", kOne, "bessel_y1(self)"},
    Row{"special_modified_bessel_k0", kOne, "modified_bessel_k0(self)"},
    Row{"special_modified_bessel_k1", kOne, "modified_bessel_k1(self)"},
    Row{"special_scaled_modified_bessel_k0", kOne, "scaled_modified_bessel_k0(x)"},
    Row{"special_scaled_modified_bessel_k1", kOne, "scaled_modified_bessel_k1(x)"},
    Row{"special_spherical_bessel_j0", kOne, "spherical_bessel_j0(x)"},
    Row{"special_airy_ai", kOne, "airy_ai(x)"},
    // orthogonal polynomials
    Row{"special_chebyshev_polynomial_t", kTwo, "chebyshev_t(x, n)"},
    Row{"special_chebyshev_polynomial_u", kTwo, "chebyshev_u(x, n)"},
    Row{"special_chebyshev_polynomial_v", kTwo, "chebyshev_v(x, n)"},
    Row{"special_chebyshev_polynomial_w", kTwo, "chebyshev_w(x, n)"},
    Row{"special_shifted_chebyshev_polynomial_t", kTwo, "chebyshev_t(2 * x - 1, n)"},
    Row{"special_shifted_chebyshev_polynomial_u", kTwo, "chebyshev_u(2 * x - 1, n)"},
    Row{"special_shifted_chebyshev_polynomial_v", kTwo, "chebyshev_v(2 * x - 1, n)"},
    Row{"special_shifted_chebyshev_polynomial_w", kTwo, "chebyshev_w(2 * x - 1, n)"},
    Row{"special_hermite_polynomial_h", kTwo, "hermite_h(x, n)"},
    Row{"special_hermite_polynomial_he", kTwo, "hermite_he(x, n)"},
    Row{"special_laguerre_polynomial_l", kTwo, "laguerre_l(x, n)"},
    Row{"special_legendre_polynomial_p", kTwo, "legendre_p(x, n)"},
    // complex numbers
    Row{"complex", kOne, "complex(real, imag)", kFloating},
    Row{"polar", kOne, "complex(abs * cos(angle), abs * sin(angle))", kFloating},
    Row{"angle", kOne, "angle(self)", kFloating},
    Row{"abs absolute", kOne, "abs(self)", kSelf},
    // activations
    Row{"relu", kOne, "max(0, self)"},
    Row{"_add_relu", kTwo, "max(self + rounded(alpha) * other, 0)"},
    Row{"_masked_scale", kOne, "self * mask * scale"},
    Row{"relu6", kOne, "min(6, max(0, self))"},
    Row{"hardtanh", kOne, "min(max_val, max(min_val, self))"},
    Row{"hardswish", kOne, "self * min(max(self + 3, 0), 6) * 0.16666666666666666"},
    Row{"hardsigmoid", kOne, "min(max(self + 3, 0), 6) * 0.16666666666666666"},
    Row{"hardshrink", kOne, "self >= -rounded(lambd) && self <= rounded(lambd) ? 0 : self"},
    Row{"softshrink", kOne, "self > rounded(lambd) ? self - rounded(lambd) : self < -rounded(lambd) ? self + rounded(lambd) : isnan(self) ? self : 0"},
    Row{"softplus", kOne, "self * beta > threshold ? self : log1p(exp(self * beta)) / beta"},
    Row{"elu", kOne, "self > 0 ? self * scale : expm1(self * input_scale) * (alpha * scale)"},
    Row{"celu", kOne, "self > 0 ? self : expm1(self * (1 / alpha)) * alpha"},
    Row{"selu", kOne, "self > 0 ? self * 1.0507009873554804934193349852946 : "
                      "expm1(self) * (1.6732632423543772848170429916717 * 1.0507009873554804934193349852946)"},
    Row{"silu", kOne, "self / (1 + exp(-self))"},
    Row{"mish", kOne, "self * tanh(log1p(exp(self)))"},
    Row{"leaky_relu", kOne, "self > 0 ? self : self * negative_slope"},
    Row{"log_sigmoid", kOne, "min(self, 0) - log1p(exp(-abs(self)))"},
};
// clang-format on

template <std::size_t kRow>
Values lower_row(Builder& b, const Call& c) {
  return {lower_text(b, c, kPointwiseTableRows[kRow].text, kPointwiseTableRows[kRow].compute)};
}

template <std::size_t... kRow>
constexpr std::array<LowerFn, sizeof...(kRow)> functions(std::index_sequence<kRow...>) {
  return {lower_row<kRow>...};
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) result.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace

std::vector<Lowering> text_lowerings() {
  static constexpr auto kFunctions = functions(std::make_index_sequence<kPointwiseTableRows.size()>());
  static std::deque<std::string> targets;  // the table's views point into it
  std::vector<Lowering> table;
  for (std::size_t i = 0; i < kPointwiseTableRows.size(); ++i) {
    for (std::string_view name : words(kPointwiseTableRows[i].names)) {
      for (std::string_view overload : words(kPointwiseTableRows[i].overloads)) {
        targets.push_back("aten." + std::string(name) + "." + std::string(overload));
        table.push_back({targets.back(), kFunctions[i]});
      }
    }
  }
  return table;
}

}  // namespace tern
