// Random numbers whose law differs from element to element: Poisson, binomial and gamma, by rejection.
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "dtypes/convert.h"
#include "kernels/cpu/philox.h"
#include "kernels/cpu/pointwise/kernels.h"
#include "threads/parallel.h"

namespace tern::pointwise {
namespace {

/// An element's own words, as many as it takes: of thread `element`, and of the session's block, the upper half of
/// whose number counts them. Other tensors' blocks have other lower halves.
class Words {
 public:
  Words(const RandomState& state, std::int64_t element)
      : seed_(state.seed), block_(state.offset), element_(static_cast<std::uint64_t>(element)) {}

  /// In (0, 1), 53 bits.
  double uniform() {
    if (used_ == 4) {
      words_ = philox_block(seed_, element_, block_ + (++count_ << 32));
      used_ = 0;
    }
    const double u = philox_uniform(words_[used_], words_[used_ + 1]);
    used_ += 2;
    return u < 1 ? u : 1 - 0x1p-53;
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t seed_, block_, element_, count_ = 0;
  PhiloxWords words_{};
  std::size_t used_ = 4;
};

double log_factorial(double n) {
  int sign = 0;
  return lgamma_r(n + 1, &sign);
}

/// Above this, differences of logarithms of factorials are too coarse to accept by; a Poisson law is normal there.
constexpr double kLarge = 0x1p40;
constexpr int kMostTrials = 10'000;  // one in two or more is accepted: never reached, whatever the words

/// Rates below 10: how many uniform numbers multiply to less than exp(-rate) (Knuth). Above: transformed rejection
/// (Hoermann, "The transformed rejection method for generating Poisson random variables", 1993: PTRS).
double poisson(Words& w, double rate) {
  if (std::isnan(rate)) return rate;
  if (rate < 0) fail(ErrorCode::runtime, "poisson: a rate is negative");
  if (rate == 0 || std::isinf(rate)) return rate;
  if (rate > kLarge) return std::max(0.0, std::floor(rate + std::sqrt(rate) * w.normal() + 0.5));
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double product = w.uniform();
    double count = 0;
    for (; product > limit; ++count) product *= w.uniform();
    return count;
  }
  const double root = std::sqrt(rate), log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accept = 0.9277 - 3.6224 / (b - 2);
  for (int i = 0; i < kMostTrials; ++i) {
    const double u = w.uniform() - 0.5, v = w.uniform(), us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= accept) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double height = std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b);
    if (height <= k * log_rate - rate - log_factorial(k)) return k;
  }
  return std::floor(rate);
}

/// With few successes expected, the trials between them are counted. Else transformed rejection (Hoermann, "The
/// generation of binomial random variates", 1993: BTRS). 0 < p <= 1/2.
double binomial_below_half(Words& w, double n, double p) {
  if (n * p < 10) {
    const double log_miss = std::log1p(-p);
    double trials = 0, hits = 0;
    while (true) {
      trials += std::ceil(std::log(w.uniform()) / log_miss);
      if (trials > n) return hits;
      ++hits;
    }
  }
  const double q = 1 - p, deviation = std::sqrt(n * p * q), ratio = std::log(p / q);
  const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double middle = n * p + 0.5, accept = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((n + 1) * p), at_mode = log_factorial(mode) + log_factorial(n - mode);
  for (int i = 0; i < kMostTrials; ++i) {
    const double u = w.uniform() - 0.5, v = w.uniform(), us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + middle);
    if (us >= 0.07 && v <= accept) return k;
    if (k < 0 || k > n) continue;
    const double height = std::log(v * alpha / (a / (us * us) + b));
    if (height <= at_mode - log_factorial(k) - log_factorial(n - k) + (k - mode) * ratio) return k;
  }
  return mode;
}

double binomial(Words& w, double n, double p) {
  if (std::isnan(n) || std::isnan(p)) return std::numeric_limits<double>::quiet_NaN();
  if (n < 0 || n > kLarge || p < 0 || p > 1) {
    fail(ErrorCode::runtime, "binomial: a count is not within 0..2^40, or a chance not within 0..1");
  }
  n = std::floor(n);
  if (n == 0 || p == 0) return 0;
  if (p == 1) return n;
  return p <= 0.5 ? binomial_below_half(w, n, p) : n - binomial_below_half(w, n, 1 - p);
}

/// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000). A shape below 1 is drawn with one
/// more.
double gamma(Words& w, double shape) {
  if (std::isnan(shape) || std::isinf(shape)) return shape;
  if (shape < 0) fail(ErrorCode::runtime, "standard_gamma: a shape is negative");
  if (shape == 0) return 0;
  const double boost = shape < 1 ? std::pow(w.uniform(), 1 / shape) : 1;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (int i = 0; i < kMostTrials; ++i) {
    const double x = w.normal(), t = 1 + c * x;
    if (t <= 0) continue;
    const double v = t * t * t;
    if (std::log(w.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return boost * d * v;
  }
  return boost * d;
}

}  // namespace

void sample(KernelCall& call, const std::string& kind) {
  if (call.random == nullptr) fail(ErrorCode::internal, "random: the session has no generator");
  const RandomState state = *call.random;
  call.random->offset += 1;
  const TensorView& out = call.out[0];
  const std::int64_t n = out.numel(), step = element_size(out.dtype);
  constexpr std::int64_t kChunk = 128;
  parallel_for((n + kChunk - 1) / kChunk, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const std::int64_t first = chunk * kChunk, count = std::min(kChunk, n - first);
      double a[kChunk], b[kChunk];
      convert(call.in[0].data + first * step, out.dtype, a, DType::f64, count);
      if (kind == "binomial") convert(call.in[1].data + first * step, out.dtype, b, DType::f64, count);
      for (std::int64_t i = 0; i < count; ++i) {
        Words w(state, first + i);
        a[i] = kind == "poisson" ? poisson(w, a[i]) : kind == "gamma" ? gamma(w, a[i]) : binomial(w, a[i], b[i]);
      }
      convert(a, DType::f64, out.data + first * step, out.dtype, count);
    }
  });
}

}  // namespace tern::pointwise
