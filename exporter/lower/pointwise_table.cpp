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
  std::string_view fused = {};  ///< the formula of float32 and float64 with an alpha other than 1
};

constexpr auto kPointwiseTableFactors = ComputeIn::factors;
constexpr auto kOperands = ComputeIn::operands;
constexpr auto kSelf = ComputeIn::self;
constexpr auto kFloating = ComputeIn::floating;
constexpr auto kBoolean = ComputeIn::boolean;

constexpr std::string_view kUnaryOverloads = "default";
constexpr std::string_view kBinaryOverloads =
    "default Tensor Scalar Tensor_Scalar Scalar_Tensor Scalar_Self Scalar_Other other "
    "Tensor_Tensor n_scalar x_scalar other_scalar self_scalar";

// clang-format off
constexpr auto kPointwiseFormulas = std::to_array<PointwiseFormula>({
    // arithmetic
    {"add", kBinaryOverloads, "self + rounded(alpha) * other", ComputeIn::result, "fma(rounded(alpha), other, self)"},
    {"sub subtract", kBinaryOverloads, "self - rounded(alpha) * other", ComputeIn::result, "fma(-rounded(alpha), other, self)"},
    {"rsub", kBinaryOverloads, "other - rounded(alpha) * self", ComputeIn::result, "fma(-rounded(alpha), self, other)"},
    {"mul multiply", kBinaryOverloads, "self * other", kPointwiseTableFactors},
    {"div divide true_divide", kBinaryOverloads, "self / other", kPointwiseTableFactors},
    {"remainder", kBinaryOverloads, "remainder(self, other)"},
    {"fmod", kBinaryOverloads, "fmod(self, other)"},
    {"neg negative _neg_view _neg_view_copy", kUnaryOverloads, "-self"},
    {"reciprocal", kUnaryOverloads, "reciprocal(self)"},
    {"square", kUnaryOverloads, "self * self"},
    {"addcmul", kUnaryOverloads, "self + value * tensor1 * tensor2"},
    {"addcdiv", kUnaryOverloads, "self + value * tensor1 / tensor2"},
    {"lerp", "Tensor Scalar", "abs(weight) < 0.5 ? self + weight * (end - self) : end - (end - self) * (1 - weight)"},
    {"float_power", kBinaryOverloads, "pow(self, exponent)"},
    {"pow", "Tensor_Tensor Scalar", "pow(self, exponent)"},
    {"hypot", kUnaryOverloads, "hypot(self, other)"},
    {"maximum", kUnaryOverloads, "max(self, other)"},
    {"max", "other", "max(self, other)"},
    {"min", "other", "min(self, other)"},
    {"minimum", kUnaryOverloads, "min(self, other)"},
    {"fmax", kUnaryOverloads, "fmax(self, other)"},
    {"fmin", kUnaryOverloads, "fmin(self, other)"},
    {"gcd", kUnaryOverloads, "gcd(self, other)"},
    {"lcm", kUnaryOverloads, "lcm(self, other)"},
    {"copysign", kBinaryOverloads, "copysign(self, other)"},
    {"atan2 arctan2", kUnaryOverloads, "atan2(self, other)"},
    {"xlogy special_xlogy", kBinaryOverloads, "isnan(other) ? nan : self == 0 ? 0 : self * rounded(log(other))"},
    {"special_xlog1py", kBinaryOverloads, "isnan(other) ? nan : self == 0 ? 0 : self * rounded(log1p(other))"},
    {"heaviside", kUnaryOverloads, "self == 0 ? values : self > 0 ? 1 : 0"},
    // comparisons
    {"eq", kBinaryOverloads, "self == other", kOperands},
    {"ne not_equal", kBinaryOverloads, "self != other", kOperands},
    {"lt less", kBinaryOverloads, "self < other", kOperands},
    {"le less_equal", kBinaryOverloads, "self <= other", kOperands},
    {"gt greater", kBinaryOverloads, "self > other", kOperands},
    {"ge greater_equal", kBinaryOverloads, "self >= other", kOperands},
    {"logical_and", kUnaryOverloads, "self && other", kBoolean},
    {"logical_or", kUnaryOverloads, "self || other", kBoolean},
    {"logical_xor", kUnaryOverloads, "bool(self) ^ bool(other)", kBoolean},
    {"logical_not", kUnaryOverloads, "!self", kBoolean},
    // bits
    {"bitwise_and __and__", kBinaryOverloads, "self & other"},
    {"bitwise_or __or__", kBinaryOverloads, "self | other"},
    {"bitwise_xor __xor__", kBinaryOverloads, "self ^ other"},
    {"bitwise_not", kUnaryOverloads, "~self"},
    // choices
    {"where", "self Scalar ScalarOther ScalarSelf", "condition ? self : other"},
    {"masked_fill", "Scalar Tensor", "mask ? value : self"},
    {"threshold", kUnaryOverloads, "self <= threshold ? value : self"},
    // roots, exponentials, logarithms
    {"sqrt", kUnaryOverloads, "sqrt(self)"},
    {"rsqrt", kUnaryOverloads, "rsqrt(self)"},
    {"exp", kUnaryOverloads, "exp(self)"},
    {"exp2 special_exp2", kUnaryOverloads, "exp2(self)"},
    {"expm1 special_expm1", kUnaryOverloads, "expm1(self)"},
    {"log", kUnaryOverloads, "log(self)"},
    {"log2", kUnaryOverloads, "log2(self)"},
    {"log10", kUnaryOverloads, "log10(self)"},
    {"log1p special_log1p", kUnaryOverloads, "log1p(self)"},
    {"sigmoid special_expit", kUnaryOverloads, "sigmoid(self)"},
    {"special_entr", kUnaryOverloads, "isnan(self) ? self : self > 0 ? -self * log(self) : self == 0 ? 0 : -inf"},
    // circular and hyperbolic
    {"sin", kUnaryOverloads, "sin(self)"},
    {"cos", kUnaryOverloads, "cos(self)"},
    {"tan", kUnaryOverloads, "tan(self)"},
    {"asin arcsin", kUnaryOverloads, "asin(self)"},
    {"acos arccos", kUnaryOverloads, "acos(self)"},
    {"atan arctan", kUnaryOverloads, "atan(self)"},
    {"sinh", kUnaryOverloads, "sinh(self)"},
    {"cosh", kUnaryOverloads, "cosh(self)"},
    {"tanh", kUnaryOverloads, "tanh(self)"},
    {"asinh arcsinh", kUnaryOverloads, "asinh(self)"},
    {"acosh arccosh", kUnaryOverloads, "acosh(self)"},
    {"atanh arctanh", kUnaryOverloads, "atanh(self)"},
    {"sinc special_sinc", kUnaryOverloads, "self == 0 ? 1 : sin(pi * self) / (pi * self)"},
    {"deg2rad", kUnaryOverloads, "self * (pi / 180)"},
    {"rad2deg", kUnaryOverloads, "self * (180 / pi)"},
    // error and gamma functions
    {"erf special_erf", kUnaryOverloads, "erf(self)"},
    {"erfc special_erfc", kUnaryOverloads, "erfc(self)"},
    {"erfinv special_erfinv", kUnaryOverloads, "erfinv(self)"},
    {"special_erfcx", kUnaryOverloads, "erfcx(self)"},
    {"special_ndtri", kUnaryOverloads, "ndtri(self)"},
    {"special_log_ndtr", kUnaryOverloads, "log_ndtr(self)"},
    {"lgamma special_gammaln", kUnaryOverloads, "lgamma(self)"},
    {"digamma special_digamma special_psi", kUnaryOverloads, "digamma(self)"},
    {"polygamma special_polygamma", kUnaryOverloads, "polygamma(n, self)"},
    {"igamma special_gammainc", kUnaryOverloads, "igamma(self, other)"},
    {"igammac special_gammaincc", kUnaryOverloads, "igammac(self, other)"},
    {"special_zeta", kBinaryOverloads, "zeta(self, other)"},
    // Bessel functions
    {"i0 special_i0 special_modified_bessel_i0", kUnaryOverloads, "i0(self)"},
    {"special_i0e", kUnaryOverloads, "i0e(self)"},
    {"special_i1 special_modified_bessel_i1", kUnaryOverloads, "i1(self)"},
    {"special_i1e", kUnaryOverloads, "i1e(self)"},
    {"special_bessel_j0", kUnaryOverloads, "bessel_j0(self)"},
    {"special_bessel_j1", kUnaryOverloads, "bessel_j1(self)"},
    {"special_bessel_y0", kUnaryOverloads, "bessel_y0(self)"},
    {"special_bessel_y1", kUnaryOverloads, "bessel_y1(self)"},
    {"special_modified_bessel_k0", kUnaryOverloads, "modified_bessel_k0(self)"},
    {"special_modified_bessel_k1", kUnaryOverloads, "modified_bessel_k1(self)"},
    {"special_scaled_modified_bessel_k0", kUnaryOverloads, "scaled_modified_bessel_k0(x)"},
    {"special_scaled_modified_bessel_k1", kUnaryOverloads, "scaled_modified_bessel_k1(x)"},
    {"special_spherical_bessel_j0", kUnaryOverloads, "spherical_bessel_j0(x)"},
    {"special_airy_ai", kUnaryOverloads, "airy_ai(x)"},
    // orthogonal polynomials
    {"special_chebyshev_polynomial_t", kBinaryOverloads, "chebyshev_t(x, n)"},
    {"special_chebyshev_polynomial_u", kBinaryOverloads, "chebyshev_u(x, n)"},
    {"special_chebyshev_polynomial_v", kBinaryOverloads, "chebyshev_v(x, n)"},
    {"special_chebyshev_polynomial_w", kBinaryOverloads, "chebyshev_w(x, n)"},
    {"special_shifted_chebyshev_polynomial_t", kBinaryOverloads, "chebyshev_t(2 * x - 1, n)"},
    {"special_shifted_chebyshev_polynomial_u", kBinaryOverloads, "chebyshev_u(2 * x - 1, n)"},
    {"special_shifted_chebyshev_polynomial_v", kBinaryOverloads, "chebyshev_v(2 * x - 1, n)"},
    {"special_shifted_chebyshev_polynomial_w", kBinaryOverloads, "chebyshev_w(2 * x - 1, n)"},
    {"special_hermite_polynomial_h", kBinaryOverloads, "hermite_h(x, n)"},
    {"special_hermite_polynomial_he", kBinaryOverloads, "hermite_he(x, n)"},
    {"special_laguerre_polynomial_l", kBinaryOverloads, "laguerre_l(x, n)"},
    {"special_legendre_polynomial_p", kBinaryOverloads, "legendre_p(x, n)"},
    // complex numbers
    {"complex", kUnaryOverloads, "complex(real, imag)", kFloating},
    {"polar", kUnaryOverloads, "complex(abs * cos(angle), abs * sin(angle))", kFloating},
    {"angle", kUnaryOverloads, "angle(self)", kFloating},
    {"abs absolute", kUnaryOverloads, "abs(self)", kSelf},
    // activations
    {"relu", kUnaryOverloads, "max(0, self)"},
    {"_add_relu", kBinaryOverloads, "max(self + rounded(alpha) * other, 0)"},
    {"_masked_scale", kUnaryOverloads, "self * mask * scale"},
    {"relu6", kUnaryOverloads, "min(6, max(0, self))"},
    {"hardtanh", kUnaryOverloads, "min(max_val, max(min_val, self))"},
    {"hardswish", kUnaryOverloads, "self * min(max(self + 3, 0), 6) * 0.16666666666666666"},
    {"hardsigmoid", kUnaryOverloads, "min(max(self + 3, 0), 6) * 0.16666666666666666"},
    {"hardshrink", kUnaryOverloads, "self < -rounded(lambd) ? self : self <= rounded(lambd) ? 0 : self"},
    {"softshrink", kUnaryOverloads, "self - min(max(self, -rounded(lambd)), rounded(lambd))"},
    {"softplus", kUnaryOverloads, "self * beta > threshold ? self : log1p(exp(self * beta)) / beta"},
    {"elu", kUnaryOverloads, "self > 0 ? self * scale : expm1(self * input_scale) * (alpha * scale)"},
    {"celu", kUnaryOverloads, "self > 0 ? self : expm1(self * (1 / alpha)) * alpha"},
    {"selu", kUnaryOverloads, "self > 0 ? self * 1.0507009873554804934193349852946 : "
                   "expm1(self) * (1.6732632423543772848170429916717 * 1.0507009873554804934193349852946)"},
    {"silu", kUnaryOverloads, "self / (1 + exp(-self))"},
    {"mish", kUnaryOverloads, "self * tanh(log1p(exp(self)))"},
    {"leaky_relu", kUnaryOverloads, "self > 0 ? self : self * negative_slope"},
    {"log_sigmoid", kUnaryOverloads, "min(self, 0) - log1p(exp(-abs(self)))"},
});
// clang-format on

/// PyTorch's kernels round a sum with a factor once. 16-bit types have exact products.
bool is_fused(const Call& c) {
  const DType t = c.result_dtype();
  const CallArgument& alpha = c.arg("alpha");
  const bool is_one = alpha.kind == CallArgument::Kind::number ? alpha.number == 1 : alpha.integer.is(1);
  return (t == DType::f32 || t == DType::f64) && !is_one;
}

template <std::size_t kFormula>
Values lower_formula(Builder& b, const Call& c) {
  const PointwiseFormula& f = kPointwiseFormulas[kFormula];
  return {lower_text(b, c, !f.fused.empty() && is_fused(c) ? f.fused : f.text, f.compute)};
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
