#include "kernels/cpu/reductions/softmax_row.h"

#include <bit>
#include <cmath>
#include <limits>

#include "dtypes/levels.h"

namespace tern::cpu {
namespace {

#define TERN_INLINE [[gnu::always_inline]] inline

constexpr std::int64_t kSoftmaxRowLanes = 32;

/// x * y + z, as an fma on processors with fast fma.
template <bool kFused>
TERN_INLINE float madd(float x, float y, float z) {
  return kFused ? __builtin_fmaf(x, y, z) : x * y + z;
}

/// Cephes' expf: x = n ln 2 + r, a polynomial in r, and n added to the exponent.
template <bool kFused>
TERN_INLINE float exp_of(float x) {
  const float low = -87.3F;
  const float clamped = x < low ? low : x;
  const float shifted = madd<kFused>(clamped, 1.44269504F, 12582912.0F);
  const float n = shifted - 12582912.0F;
  const float r = madd<kFused>(n, 2.12194440e-4F, madd<kFused>(n, -0.693359375F, clamped));
  float p = 1.9875691500e-4F;
  p = madd<kFused>(p, r, 1.3981999507e-3F);
  p = madd<kFused>(p, r, 8.3334519073e-3F);
  p = madd<kFused>(p, r, 4.1665795894e-2F);
  p = madd<kFused>(p, r, 1.6666665459e-1F);
  p = madd<kFused>(p, r, 5.0000001201e-1F);
  p = madd<kFused>(p * r, r, r) + 1.0F;
  const auto bits = std::bit_cast<std::uint32_t>(shifted) << 23;
  const float result = std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + bits);
  const float value = x != x ? x : result;
  return x < low ? 0.0F : value;
}

TERN_INLINE float scale_and_max_loop(float* __restrict s, std::int64_t n, float scale, const float* __restrict mask) {
  float lanes[kSoftmaxRowLanes];
  for (float& l : lanes) l = -std::numeric_limits<float>::infinity();
  std::int64_t i = 0;
  if (mask == nullptr) {
    for (; i + kSoftmaxRowLanes <= n; i += kSoftmaxRowLanes) {
      for (std::int64_t j = 0; j < kSoftmaxRowLanes; ++j) {
        const float v = s[i + j] * scale;
        s[i + j] = v;
        lanes[j] = v > lanes[j] ? v : lanes[j];
      }
    }
  } else {
    for (; i + kSoftmaxRowLanes <= n; i += kSoftmaxRowLanes) {
      for (std::int64_t j = 0; j < kSoftmaxRowLanes; ++j) {
        const float v = s[i + j] * scale + mask[i + j];
        s[i + j] = v;
        lanes[j] = v > lanes[j] ? v : lanes[j];
      }
    }
  }
  for (; i < n; ++i) {
    s[i] = s[i] * scale + (mask == nullptr ? 0.0F : mask[i]);
    lanes[0] = s[i] > lanes[0] ? s[i] : lanes[0];
  }
  float max = lanes[0];
  for (const float l : lanes) max = l > max ? l : max;
  return max;
}

template <bool kFused>
TERN_INLINE float exp_and_sum_loop(float* __restrict s, std::int64_t n, float max) {
  float lanes[kSoftmaxRowLanes] = {};
  std::int64_t i = 0;
  for (; i + kSoftmaxRowLanes <= n; i += kSoftmaxRowLanes) {
    for (std::int64_t j = 0; j < kSoftmaxRowLanes; ++j) {
      const float e = exp_of<kFused>(s[i + j] - max);
      s[i + j] = e;
      lanes[j] += e;
    }
  }
  for (std::int64_t j = 0; i < n; ++i, ++j) {
    s[i] = exp_of<kFused>(s[i] - max);
    lanes[j] += s[i];
  }
  for (std::int64_t half = kSoftmaxRowLanes / 2; half > 0; half /= 2) {
    for (std::int64_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  return lanes[0];
}

}  // namespace

float scale_and_max(float* s, std::int64_t n, float scale, const float* mask) {
  float max = 0;
  visit_cpu_level([&](auto) __attribute__((always_inline)) { max = scale_and_max_loop(s, n, scale, mask); });
  return max;
}

float exp_and_sum(float* s, std::int64_t n, float max) {
  float sum = 0;
  visit_cpu_level([&](auto fused)
                      __attribute__((always_inline)) { sum = exp_and_sum_loop<decltype(fused)::value>(s, n, max); });
  return sum;
}

double scale_and_max(double* s, std::int64_t n, double scale, const double* mask) {
  double max = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < n; ++i) {
    s[i] = s[i] * scale + (mask == nullptr ? 0.0 : mask[i]);
    max = s[i] > max ? s[i] : max;
  }
  return max;
}

double exp_and_sum(double* s, std::int64_t n, double max) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += s[i] = std::exp(s[i] - max);
  return sum;
}

#undef TERN_INLINE

}  // namespace tern::cpu
