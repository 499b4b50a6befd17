#include "platform/special_functions.h"

#include <math.h>

extern "C" double lgamma_r(double, int*);  // some systems hide it

namespace tern::platform {

double bessel_j0(double x) {
  return ::j0(x);
}

double bessel_j1(double x) {
  return ::j1(x);
}

double bessel_y0(double x) {
  return ::y0(x);
}

double bessel_y1(double x) {
  return ::y1(x);
}

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);  // lgamma() writes a global
}

}  // namespace tern::platform
