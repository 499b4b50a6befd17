// How far a weight and its quantized value are apart. Compiled so that sums may be made in any order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "exporter/quantize/levels.h"
#include "exporter/quantize/matrix.h"

namespace tern::quantize {
namespace {

constexpr std::int64_t kSummed = 4096;  // numbers that are summed in float32

TERN_INLINE Error error_of_few(const float* x, const float* y, std::int64_t count) {
  float xx = 0, yy = 0, xy = 0, noise = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float a = x[i], b = y[i], d = a - b;
    xx += a * a;
    yy += b * b;
    xy += a * b;
    noise += d * d;
  }
  return {xx, yy, xy, noise};
}

}  // namespace

Error error_of(const float* x, const float* y, std::int64_t count) {
  Error e;
  at_cpu_level([&]() __attribute__((always_inline)) {
    for (std::int64_t begin = 0; begin < count; begin += kSummed)
      e.add(error_of_few(x + begin, y + begin, std::min(kSummed, count - begin)));
  });
  return e;
}

void Error::add(const Error& e) {
  xx += e.xx;
  yy += e.yy;
  xy += e.xy;
  noise += e.noise;
}

double Error::sqnr() const {
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(xx / noise);
}

double Error::cosine() const {
  return xx == 0 && yy == 0 ? 1 : std::min(xy / std::sqrt(xx * yy), 1.0);
}

}  // namespace tern::quantize
