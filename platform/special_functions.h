// Functions of the C library that ISO C++ hides on some systems.
#pragma once

namespace tern::platform {

double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);
/// Logarithm of the absolute value of the gamma function.
double log_gamma(double x);

}  // namespace tern::platform
