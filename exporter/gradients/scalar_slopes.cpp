#include "exporter/gradients/scalar_slopes.h"

namespace tern {
namespace {

// Formulas: Abramowitz and Stegun, chapters 4, 6, 7 and 9. Missing or infinite derivatives follow torch.autograd.
// clang-format off
constexpr ScalarSlope kScalarSlopesSlopes[] = {
    {Scalar::add, "1", "1"},
    {Scalar::sub, "1", "-1"},
    {Scalar::mul, "b", "a"},
    {Scalar::div, "1 / b", "-r / b"},
    {Scalar::neg, "-1", ""},
    {Scalar::reciprocal, "-r * r", ""},
    {Scalar::pow, "b == 0 ? 0 : b * pow(a, b - 1)", "a == 0 && b >= 0 ? 0 : r * log(a)",
                  "", "a == 0 && real(b) >= 0 ? 0 : r * log(a)"},
    {Scalar::hypot, "a / r", "b / r"},
    {Scalar::atan2, "b / (a * a + b * b)", "-a / (a * a + b * b)"},
    {Scalar::remainder, "1", "-floordiv(a, b)"},
    {Scalar::fmod, "1", "-trunc(a / b)"},
    {Scalar::copysign, "a == 0 ? 0 : r / a", "0"},
    // Steps.
    {Scalar::sign, "0", ""},
    {Scalar::floor, "0", ""},
    {Scalar::ceil, "0", ""},
    {Scalar::trunc, "0", ""},
    {Scalar::round, "0", ""},
    {Scalar::floordiv, "0", "0"},
    {Scalar::truncdiv, "0", "0"},
    {Scalar::bitcast, "0", ""},
    // Roots, exponentials, logarithms.
    {Scalar::sqrt, "0.5 / r", ""},
    {Scalar::rsqrt, "-0.5 * (r * r * r)", ""},
    {Scalar::exp, "r", ""},
    {Scalar::exp2, "r * 0.69314718055994530942", ""},
    {Scalar::expm1, "r + 1", ""},
    {Scalar::log, "1 / a", ""},
    {Scalar::log2, "1 / (a * 0.69314718055994530942)", ""},
    {Scalar::log10, "1 / (a * 2.3025850929940456840)", ""},
    {Scalar::log1p, "1 / (1 + a)", ""},
    {Scalar::sigmoid, "r * (1 - r)", ""},
    // Circular and hyperbolic.
    {Scalar::sin, "cos(a)", ""},
    {Scalar::cos, "-sin(a)", ""},
    {Scalar::tan, "1 + r * r", ""},
    {Scalar::asin, "rsqrt(1 - a * a)", ""},
    {Scalar::acos, "-rsqrt(1 - a * a)", ""},
    {Scalar::atan, "1 / (1 + a * a)", ""},
    {Scalar::sinh, "cosh(a)", ""},
    {Scalar::cosh, "sinh(a)", ""},
    {Scalar::tanh, "1 - r * r", ""},
    {Scalar::asinh, "rsqrt(a * a + 1)", ""},
    {Scalar::acosh, "rsqrt(a * a - 1)", "", "rsqrt(a - 1) * rsqrt(a + 1)", ""},
    {Scalar::atanh, "1 / (1 - a * a)", ""},
    // Error and gamma functions.
    {Scalar::erf, "1.1283791670955125739 * exp(-(a * a))", ""},
    {Scalar::erfc, "-1.1283791670955125739 * exp(-(a * a))", ""},
    {Scalar::erfinv, "0.88622692545275801365 * exp(r * r)", ""},
    {Scalar::erfcx, "2 * a * r - 1.1283791670955125739", ""},
    {Scalar::ndtri, "2.5066282746310005024 * exp(r * r / 2)", ""},
    {Scalar::log_ndtr, "0.79788456080286535588 / erfcx(-a * 0.70710678118654752440)", ""},
    {Scalar::lgamma, "digamma(a)", ""},
    {Scalar::digamma, "polygamma(1, a)", ""},
    {Scalar::polygamma, "0", "polygamma(a + 1, b)"},
    {Scalar::zeta, "", "-a * zeta(a + 1, b)"},
    {Scalar::igamma, "", "exp((a - 1) * log(b) - b - lgamma(a))"},
    {Scalar::igammac, "", "-exp((a - 1) * log(b) - b - lgamma(a))"},
    // Bessel functions.
    {Scalar::i0, "i1(a)", ""},
    {Scalar::i0e, "i1e(a) - sign(a) * r", ""},
    {Scalar::i1, "abs(a) > 1e-7 ? i0(a) - r / a : 0.5", ""},
    {Scalar::i1e, "abs(a) > 1e-7 ? i0e(a) - r * (sign(a) + 1 / a) : 0.5", ""},
    {Scalar::bessel_j0, "-bessel_j1(a)", ""},
    {Scalar::bessel_j1, "a == 0 ? 0.5 : bessel_j0(a) - r / a", ""},
    {Scalar::bessel_y0, "-bessel_y1(a)", ""},
    {Scalar::bessel_y1, "bessel_y0(a) - r / a", ""},
    {Scalar::modified_bessel_k0, "-modified_bessel_k1(a)", ""},
    {Scalar::modified_bessel_k1, "-modified_bessel_k0(a) - r / a", ""},
    {Scalar::scaled_modified_bessel_k0, "r - scaled_modified_bessel_k1(a)", ""},
    {Scalar::scaled_modified_bessel_k1, "r - scaled_modified_bessel_k0(a) - r / a", ""},
    {Scalar::spherical_bessel_j0, "a == 0 ? 0 : (cos(a) - r) / a", ""},
    // The mantissa is a / 2^exponent.
    {Scalar::frexp_mantissa, "a == 0 ? 1 : r / a", ""},
    {Scalar::frexp_exponent, "0", ""},
    // PyTorch has none for these either.
    {Scalar::nextafter, "", ""},
    {Scalar::airy_ai, "", ""},
    {Scalar::chebyshev_t, "", ""},
    {Scalar::chebyshev_u, "", ""},
    {Scalar::chebyshev_v, "", ""},
    {Scalar::chebyshev_w, "", ""},
    {Scalar::hermite_h, "", ""},
    {Scalar::hermite_he, "", ""},
    {Scalar::laguerre_l, "", ""},
    {Scalar::legendre_p, "", ""},
};
// clang-format on

}  // namespace

const ScalarSlope* find_scalar_slope(Scalar op) {
  for (const ScalarSlope& s : kScalarSlopesSlopes) {
    if (s.op == op) return &s;
  }
  return nullptr;
}

}  // namespace tern
