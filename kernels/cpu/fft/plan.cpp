#include "kernels/cpu/fft/plan.h"

#include <cmath>
#include <numbers>
#include <type_traits>
#include <utility>

#include "kernels/cpu/fft/stage.h"

namespace tern::cpu {
namespace {

template <class W>
constexpr int kLargestFixedRadix = std::is_same_v<W, float> ? 8 : 5;

/// Returns the next radix of a transform of size n > 1: 8, 4 and 2, so that stages are few, then prime factors.
template <class W>
std::int64_t next_radix(std::int64_t n) {
  int twos = 0;
  while ((n >> twos) % 2 == 0) ++twos;
  if (twos > 0) return twos == 1 ? 2 : kLargestFixedRadix<W> == 8 && twos % 3 == 0 ? 8 : 4;
  std::int64_t prime = 3;
  while (n % prime != 0) prime += 2;
  return prime;
}

/// Returns the smallest power of two, or three or five times a power of two, of at least n.
std::int64_t padded_size(std::int64_t n) {
  std::int64_t smallest = 0;
  for (const std::int64_t factor : {1, 3, 5}) {
    std::int64_t candidate = factor;
    while (candidate < n) candidate *= 2;
    if (smallest == 0 || candidate < smallest) smallest = candidate;
  }
  return smallest;
}

}  // namespace

bool fft_is_smooth(std::int64_t n) {
  for (int r = 2; r <= kLargestFftRadix; ++r) {
    while (n % r == 0) n /= r;
  }
  return n == 1;
}

void fft_root(std::int64_t k, std::int64_t n, double* cosine, double* sine) {
  // Reduces the angle to the first eighth of the circle, in integers: the library's functions are then exact but for a
  // rounding. The reflections are undone at the end.
  k %= n;
  const bool lower_half = 2 * k > n;
  if (lower_half) k = n - k;  // reflects at the real axis
  const bool left_half = 4 * k > n;
  const std::int64_t doubled_k = left_half ? n - 2 * k : 2 * k;  // angle pi * doubled_k / n; doubled_k is in 0 .. n / 2
  const bool above_diagonal = 4 * doubled_k > n;
  const double angle = above_diagonal
                           ? std::numbers::pi * static_cast<double>(n - 2 * doubled_k) / (2.0 * static_cast<double>(n))
                           : std::numbers::pi * static_cast<double>(doubled_k) / static_cast<double>(n);
  double c = std::cos(angle), s = std::sin(angle);
  if (above_diagonal) std::swap(c, s);
  *cosine = left_half ? -c : c;
  *sine = lower_half ? -s : s;
}

/// Computes the transform as a convolution with a chirp, by transforms of the smooth size `padded`. The spectrum of the
/// chirp holds the factor 1 / padded of the inverse transform.
template <class W>
struct FftPlan<W>::Bluestein {
  explicit Bluestein(std::int64_t n) : plan(padded_size(2 * n - 1)), chirp(static_cast<std::size_t>(2 * n)) {
    const std::int64_t padded = plan.size();
    std::vector<double> re(static_cast<std::size_t>(padded)), im(re), scratch_re(re), scratch_im(re);
    for (std::int64_t j = 0; j < n; ++j) {
      // Computes j * j modulo 2 n without overflow: n has at most 62 bits, since a line fits into memory.
      const auto square =
          static_cast<std::int64_t>(static_cast<unsigned __int128>(j) * static_cast<unsigned __int128>(j) %
                                    static_cast<unsigned __int128>(2 * n));
      double c, s;
      fft_root(square, 2 * n, &c, &s);
      const auto index = static_cast<std::size_t>(j);
      chirp[2 * index] = static_cast<W>(c);
      chirp[2 * index + 1] = static_cast<W>(-s);
      re[index] = c / static_cast<double>(padded);
      im[index] = s / static_cast<double>(padded);
      if (j > 0) {
        re[static_cast<std::size_t>(padded - j)] = re[index];
        im[static_cast<std::size_t>(padded - j)] = im[index];
      }
    }
    FftLines<double> x{re.data(), im.data()}, scratch{scratch_re.data(), scratch_im.data()};
    FftPlan<double>(padded).run(x, scratch, 1);
    spectrum.resize(static_cast<std::size_t>(2 * padded));
    for (std::size_t k = 0; k < static_cast<std::size_t>(padded); ++k) {
      spectrum[2 * k] = static_cast<W>(x.re[k]);
      spectrum[2 * k + 1] = static_cast<W>(x.im[k]);
    }
  }

  /// x[j] *= factor[j] for the first n elements of all lines.
  static void scale(const FftLines<W>& x, const std::vector<W>& factor, std::int64_t n, std::int64_t lanes) {
    for (std::int64_t j = 0; j < n; ++j) {
      const W c = factor[static_cast<std::size_t>(2 * j)], s = factor[static_cast<std::size_t>(2 * j + 1)];
      W *re = x.re + j * lanes, *im = x.im + j * lanes;
      for (std::int64_t l = 0; l < lanes; ++l) {
        const W r = re[l] * c - im[l] * s;
        im[l] = re[l] * s + im[l] * c;
        re[l] = r;
      }
    }
  }

  void run(FftLines<W>& x, FftLines<W>& scratch, std::int64_t n, std::int64_t lanes) const {
    const std::int64_t padded = plan.size();
    scale(x, chirp, n, lanes);
    std::fill(x.re + n * lanes, x.re + padded * lanes, W(0));
    std::fill(x.im + n * lanes, x.im + padded * lanes, W(0));
    plan.run(x, scratch, lanes);
    scale(x, spectrum, padded, lanes);
    // Inverse transform: exchanges real and imaginary parts.
    FftLines<W> swapped{x.im, x.re}, swapped_scratch{scratch.im, scratch.re};
    plan.run(swapped, swapped_scratch, lanes);
    x = {swapped.im, swapped.re};
    scratch = {swapped_scratch.im, swapped_scratch.re};
    scale(x, chirp, n, lanes);
  }

  FftPlan<W> plan;
  std::vector<W> chirp, spectrum;  ///< real, imaginary, real, ...
};

template <class W>
FftPlan<W>::FftPlan(std::int64_t n) : n_(n) {
  if (!fft_is_smooth(n)) {
    bluestein_ = std::make_unique<Bluestein>(n);
    return;
  }
  while (n > 1) {
    const std::int64_t radix = next_radix<W>(n);
    Stage s{static_cast<int>(radix), n / radix, {}, {}};
    s.twiddles.reserve(static_cast<std::size_t>(s.remaining_size * 2 * (radix - 1)));
    for (std::int64_t p = 0; p < s.remaining_size; ++p) {
      for (std::int64_t j = 1; j < radix; ++j) {
        double c, w;
        fft_root(p * j, n, &c, &w);
        s.twiddles.push_back(static_cast<W>(c));
        s.twiddles.push_back(static_cast<W>(-w));
      }
    }
    if (radix > kLargestFixedRadix<W>) {
      s.roots.resize(static_cast<std::size_t>(2 * radix));
      for (std::int64_t k = 0; k < radix; ++k) {
        double c, w;
        fft_root(k, radix, &c, &w);
        s.roots[static_cast<std::size_t>(k)] = static_cast<W>(c);
        s.roots[static_cast<std::size_t>(radix + k)] = static_cast<W>(w);
      }
    }
    n = s.remaining_size;
    stages_.push_back(std::move(s));
  }
}

template <class W>
FftPlan<W>::~FftPlan() = default;
template <class W>
FftPlan<W>::FftPlan(FftPlan&&) noexcept = default;
template <class W>
FftPlan<W>& FftPlan<W>::operator=(FftPlan&&) noexcept = default;

template <class W>
std::int64_t FftPlan<W>::room() const {
  return bluestein_ ? bluestein_->plan.size() : n_;
}

template <class W>
void FftPlan<W>::run_rows(FftLines<const W> input, std::int64_t row, FftLines<W>& x, FftLines<W>& other,
                          std::int64_t lanes) const {
  std::int64_t stride = lanes;
  for (const Stage& s : stages_) {
    if (s.roots.empty()) {
      fft_stage<W>(s.radix)(s.remaining_size, stride, row, s.twiddles.data(), input.re, input.im, x.re, x.im);
    } else {
      fft_large_stage<W>()(s.radix, s.roots.data(), s.remaining_size, stride, row, s.twiddles.data(), input.re,
                           input.im, x.re, x.im);
    }
    stride *= s.radix;
    row = stride;
    input = {x.re, x.im};
    std::swap(x, other);
  }
  std::swap(x, other);
}

template <class W>
void FftPlan<W>::run(FftLines<W>& x, FftLines<W>& other, std::int64_t lanes) const {
  if (bluestein_) return bluestein_->run(x, other, n_, lanes);
  if (stages_.empty()) return;
  std::swap(x, other);
  run_rows({other.re, other.im}, lanes, x, other, lanes);
}

template class FftPlan<float>;
template class FftPlan<double>;

}  // namespace tern::cpu
