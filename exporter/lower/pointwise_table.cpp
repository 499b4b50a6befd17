// Operators defined by one expression over their arguments, by the schema's names.
#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>

#include "exporter/lower/pointwise.h"

namespace tern {
namespace {

struct PointwiseFormula {
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
constexpr auto kPointwiseFormulas = std::to_array<PointwiseFormula>({
    // arithmetic
    {"add", kTwo, "self + rounded(alpha) * other"},
    {"sub subtract", kTwo, "self - rounded(alpha) * other"},
    {"rsub", kTwo, "other - rounded(alpha) * self"},
    {"mul multiply", kTwo, "self * other", kPointwiseTableFactors},
    {"div divide true_divide", kTwo, "self / other", kPointwiseTableFactors},
    {"remainder", kTwo, "remainder(self, other)"},
    {"fmod", kTwo, "fmod(self, other)"},
    {"neg negative _neg_view _neg_view_copy", kOne, "-self"},
    {"reciprocal", kOne, "reciprocal(self)"},
    {"square", kOne, "self * self"},
    {"addcmul", kOne, "self + value * tensor1 * tensor2"},
    {"addcdiv", kOne, "self + value * tensor1 / tensor2"},
    {"lerp", "Tensor Scalar", "abs(weight) < 0.5 ? self + weight * (end - self) : end - (end - self) * (1 - weight)"},
    {"float_power", kTwo, "pow(self, exponent)"},
    {"pow", "Tensor_Tensor Scalar", "pow(self, exponent)"},
    {"hypot", kOne, "hypot(self, other)"},
    {"maximum", kOne, "max(self, other)"},
    {"max", "other", "max(self, other)"},
    {"min", "other", "min(self, other)"},
    {"minimum", kOne, "min(self, other)"},
    {"fmax", kOne, "fmax(self, other)"},
    {"fmin", kOne, "fmin(self, other)"},
    {"gcd", kOne, "gcd(self, other)"},
    {"lcm", kOne, "lcm(self, other)"},
    {"copysign", kTwo, "copysign(self, other)"},
    {"atan2 arctan2", kOne, "atan2(self, other)"},
    {"xlogy special_xlogy", kTwo, "isnan(other) ? nan : self == 0 ? 0 : self * rounded(log(other))"},
    {"special_xlog1py", kTwo, "isnan(other) ? nan : self == 0 ? 0 : self * rounded(log1p(other))"},
    {"heaviside", kOne, "self == 0 ? values : self > 0 ? 1 : 0"},
    // comparisons
    {"eq", kTwo, "self == other", kOperands},
    {"ne not_equal", kTwo, "self != other", kOperands},
    {"lt less", kTwo, "self < other", kOperands},
    {"le less_equal", kTwo, "self <= other", kOperands},
    {"gt greater", kTwo, "self > other", kOperands},
    {"ge greater_equal", kTwo, "self >= other", kOperands},
    {"logical_and", kOne, "self && other", kBoolean},
    {"logical_or", kOne, "self || other", kBoolean},
    {"logical_xor", kOne, "bool(self) ^ bool(other)", kBoolean},
    {"logical_not", kOne, "!self", kBoolean},
    // bits
    {"bitwise_and __and__", kTwo, "self & other"},
    {"bitwise_or __or__", kTwo, "self | other"},
    {"bitwise_xor __xor__", kTwo, "self ^ other"},
    {"bitwise_not", kOne, "~self"},
    // choices
    {"where", "self Scalar ScalarOther ScalarSelf", "condition ? self : other"},
    {"masked_fill", "Scalar Tensor", "mask ? value : self"},
    {"threshold", kOne, "self <= threshold ? value : self"},
    // roots, exponentials, logarithms
    {"sqrt", kOne, "sqrt(self)"},
    {"rsqrt", kOne, "rsqrt(self)"},
    {"exp", kOne, "exp(self)"},
    {"exp2 special_exp2", kOne, "exp2(self)"},
    {"expm1 special_expm1", kOne, "expm1(self)"},
    {"log", kOne, "log(self)"},
    {"log2", kOne, "log2(self)"},
    {"log10", kOne, "log10(self)"},
    {"log1p special_log1p", kOne, "log1p(self)"},
    {"sigmoid special_expit", kOne, "sigmoid(self)"},
    {"special_entr", kOne, "isnan(self) ? self : self > 0 ? -self * log(self) : self == 0 ? 0 : -inf"},
    // circular and hyperbolic
    {"sin", kOne, "sin(self)"},
    {"cos", kOne, "cos(self)"},
    {"tan", kOne, "tan(self)"},
    {"asin arcsin", kOne, "asin(self)"},
    {"acos arccos", kOne, "acos(self)"},
    {"atan arctan", kOne, "atan(self)"},
    {"sinh", kOne, "sinh(self)"},
    {"cosh", kOne, "cosh(self)"},
    {"tanh", kOne, "tanh(self)"},
    {"asinh arcsinh", kOne, "asinh(self)"},
    {"acosh arccosh", kOne, "acosh(self)"},
    {"atanh arctanh", kOne, "atanh(self)"},
    {"sinc special_sinc", kOne, "self == 0 ? 1 : sin(pi * self) / (pi * self)"},
    {"deg2rad", kOne, "self * (pi / 180)"},
    {"rad2deg", kOne, "self * (180 / pi)"},
    // error and gamma functions
    {"erf special_erf", kOne, "erf(self)"},
    {"erfc special_erfc", kOne, "erfc(self)"},
    {"erfinv special_erfinv", kOne, "erfinv(self)"},
    {"special_erfcx", kOne, "erfcx(self)"},
    {"special_ndtri", kOne, "ndtri(self)"},
    {"special_log_ndtr", kOne, "log_ndtr(self)"},
    {"lgamma special_gammaln", kOne, "lgamma(self)"},
    {"digamma special_digamma special_psi", kOne, "digamma(self)"},
    {"polygamma special_polygamma", kOne, "polygamma(n, self)"},
    {"igamma special_gammainc", kOne, "igamma(self, other)"},
    {"igammac special_gammaincc", kOne, "igammac(self, other)"},
    {"special_zeta", kTwo, "zeta(self, other)"},
    // Bessel functions
    {"i0 special_i0 special_modified_bessel_i0", kOne, "i0(self)"},
    {"special_i0e", kOne, "i0e(self)"},
    {"special_i1 special_modified_bessel_i1", kOne, "i1(self)"},
    {"special_i1e", kOne, "i1e(self)"},
    {"special_bessel_j0", kOne, "bessel_j0(self)"},
    {"special_bessel_j1", kOne, "bessel_j1(self)"},
    {"special_bessel_y0", kOne, "bessel_y0(self)"},
    {"special_bessel_y1", kOne, "bessel_y1(self)"},
    {"special_modified_bessel_k0", kOne, "modified_bessel_k0(self)"},
    {"special_modified_bessel_k1", kOne, "modified_bessel_k1(self)"},
    {"special_scaled_modified_bessel_k0", kOne, "scaled_modified_bessel_k0(x)"},
    {"special_scaled_modified_bessel_k1", kOne, "scaled_modified_bessel_k1(x)"},
    {"special_spherical_bessel_j0", kOne, "spherical_bessel_j0(x)"},
    {"special_airy_ai", kOne, "airy_ai(x)"},
    // orthogonal polynomials
    {"special_chebyshev_polynomial_t", kTwo, "chebyshev_t(x, n)"},
    {"special_chebyshev_polynomial_u", kTwo, "chebyshev_u(x, n)"},
    {"special_chebyshev_polynomial_v", kTwo, "chebyshev_v(x, n)"},
    {"special_chebyshev_polynomial_w", kTwo, "chebyshev_w(x, n)"},
    {"special_shifted_chebyshev_polynomial_t", kTwo, "chebyshev_t(2 * x - 1, n)"},
    {"special_shifted_chebyshev_polynomial_u", kTwo, "chebyshev_u(2 * x - 1, n)"},
    {"special_shifted_chebyshev_polynomial_v", kTwo, "chebyshev_v(2 * x - 1, n)"},
    {"special_shifted_chebyshev_polynomial_w", kTwo, "chebyshev_w(2 * x - 1, n)"},
    {"special_hermite_polynomial_h", kTwo, "hermite_h(x, n)"},
    {"special_hermite_polynomial_he", kTwo, "hermite_he(x, n)"},
    {"special_laguerre_polynomial_l", kTwo, "laguerre_l(x, n)"},
    {"special_legendre_polynomial_p", kTwo, "legendre_p(x, n)"},
    // complex numbers
    {"complex", kOne, "complex(real, imag)", kFloating},
    {"polar", kOne, "complex(abs * cos(angle), abs * sin(angle))", kFloating},
    {"angle", kOne, "angle(self)", kFloating},
    {"abs absolute", kOne, "abs(self)", kSelf},
    // activations
    {"relu", kOne, "max(0, self)"},
    {"_add_relu", kTwo, "max(self + rounded(alpha) * other, 0)"},
    {"_masked_scale", kOne, "self * mask * scale"},
    {"relu6", kOne, "min(6, max(0, self))"},
    {"hardtanh", kOne, "min(max_val, max(min_val, self))"},
    {"hardswish", kOne, "self * min(max(self + 3, 0), 6) * 0.16666666666666666"},
    {"hardsigmoid", kOne, "min(max(self + 3, 0), 6) * 0.16666666666666666"},
    {"hardshrink", kOne, "self < -rounded(lambd) ? self : self <= rounded(lambd) ? 0 : self"},
    {"softshrink", kOne, "self - min(max(self, -rounded(lambd)), rounded(lambd))"},
    {"softplus", kOne, "self * beta > threshold ? self : log1p(exp(self * beta)) / beta"},
    {"elu", kOne, "self > 0 ? self * scale : expm1(self * input_scale) * (alpha * scale)"},
    {"celu", kOne, "self > 0 ? self : expm1(self * (1 / alpha)) * alpha"},
    {"selu", kOne, "self > 0 ? self * 1.0507009873554804934193349852946 : "
                   "expm1(self) * (1.6732632423543772848170429916717 * 1.0507009873554804934193349852946)"},
    {"silu", kOne, "self / (1 + exp(-self))"},
    {"mish", kOne, "self * tanh(log1p(exp(self)))"},
    {"leaky_relu", kOne, "self > 0 ? self : self * negative_slope"},
    {"log_sigmoid", kOne, "min(self, 0) - log1p(exp(-abs(self)))"},
});
// clang-format on

template <std::size_t kFormula>
Values lower_formula(Builder& b, const Call& c) {
  return {lower_text(b, c, kPointwiseFormulas[kFormula].text, kPointwiseFormulas[kFormula].compute)};
}

template <std::size_t... kFormula>
constexpr std::array<LowerFn, sizeof...(kFormula)> functions(std::index_sequence<kFormula...>) {
  return {lower_formula<kFormula>...};
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
  static constexpr auto kFunctions = functions(std::make_index_sequence<kPointwiseFormulas.size()>());
  static std::deque<std::string> targets;  // the table's views point into it
  std::vector<Lowering> table;
  for (std::size_t i = 0; i < kPointwiseFormulas.size(); ++i) {
    for (std::string_view name : words(kPointwiseFormulas[i].names)) {
      for (std::string_view overload : words(kPointwiseFormulas[i].overloads)) {
        targets.push_back("aten." + std::string(name) + "." + std::string(overload));
        table.push_back({targets.back(), kFunctions[i]});
      }
    }
  }
  return table;
}

}  // namespace tern
