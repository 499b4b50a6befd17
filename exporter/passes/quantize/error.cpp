#include <algorithm>
#include <cmath>
#include <limits>

#include "exporter/passes/quantize/matrix.h"

namespace tern::quantize {

void QuantizationError::add(const QuantizationError& e) {
  xx += e.xx;
  yy += e.yy;
  noise += e.noise;
}

double QuantizationError::sqnr() const {
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(xx / noise);
}

// The sum of x * y follows from the others: (x - y)^2 = x^2 + y^2 - 2 x y.
double QuantizationError::cosine() const {
  return xx == 0 && yy == 0 ? 1 : std::min((xx + yy - noise) / (2 * std::sqrt(xx * yy)), 1.0);
}

}  // namespace tern::quantize
