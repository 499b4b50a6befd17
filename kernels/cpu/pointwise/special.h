// Special functions of one or two doubles; float arguments are widened. NaN in gives NaN.
#pragma once

#include <limits>
#include <numbers>

namespace tern::special {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kPi = std::numbers::pi;

// error_functions.cpp
double erfinv(double y);
double erfcx(double x);     ///< exp(x^2) erfc(x)
double ndtri(double p);     ///< inverse of the normal distribution function
double log_ndtr(double x);  ///< logarithm of the normal distribution function

// gamma.cpp
double lgamma(double x);
double digamma(double x);
/// n is an integer >= 0; T is the type of the operands.
template <class T>
double polygamma(double n, double x);
double zeta(double s, double q);     ///< Hurwitz zeta
double igamma(double a, double x);   ///< lower regularized incomplete gamma function
double igammac(double a, double x);  ///< upper regularized incomplete gamma function

// bessel.cpp
double i0(double x);
double i0e(double x);  ///< exp(-|x|) i0(x)
double i1(double x);
double i1e(double x);
double j0(double x);
double j1(double x);
double y0(double x);
double y1(double x);
double k0(double x);
double k1(double x);
double k0e(double x);  ///< exp(x) k0(x)
double k1e(double x);
/// K_order(x) for order 0 to 1 and 0 < x <= 20, within 8 units of the last place, for libraries without
/// std::cyl_bessel_k: Abramowitz and Stegun, 9.6.24.
double modified_bessel_k_integral(double order, double x);
double spherical_j0(double x);
double airy_ai(double x);

}  // namespace tern::special
