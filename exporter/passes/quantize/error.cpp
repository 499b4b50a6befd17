#include <algorithm>
#include <cmath>
#include <limits>

#include "exporter/passes/quantize/matrix.h"

namespace tern::quantize {

void Error::add(const Error& e) {
  xx += e.xx;
  yy += e.yy;
  noise += e.noise;
}

double Error::sqnr() const {
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(xx / noise);
}

// The sum of x * y follows from the others: (x - y)^2 = x^2 + y^2 - 2 x y.
double Error::cosine() const {
  return xx == 0 && yy == 0 ? 1 : std::min((xx + yy - noise) / (2 * std::sqrt(xx * yy)), 1.0);
}

}  // namespace tern::quantize
