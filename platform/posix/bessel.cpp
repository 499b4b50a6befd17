#include "platform/bessel.h"

#include <math.h>

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

}  // namespace tern::platform
