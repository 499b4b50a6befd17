#include "platform/special_functions.h"

#include <math.h>

namespace tern::platform {

double bessel_j0(double x) {
  return ::_j0(x);
}

double bessel_j1(double x) {
  return ::_j1(x);
}

double bessel_y0(double x) {
  return ::_y0(x);
}

double bessel_y1(double x) {
  return ::_y1(x);
}

double log_gamma(double x) {
  return ::lgamma(x);
}

}  // namespace tern::platform
