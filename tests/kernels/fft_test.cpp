// Fourier transforms against their defining sum in extended precision.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <cmath>
#include <numbers>

#include "schema/linalg_kinds.h"
#include "tests/kernels/node_run.h"

namespace tern::test {
namespace {

using Long = std::complex<long double>;
using Sizes = std::vector<std::int64_t>;

Long root(std::int64_t k, std::int64_t n, bool forward) {
  const long double angle =
      2 * std::numbers::pi_v<long double> * static_cast<long double>(k % n) / static_cast<long double>(n);
  return {std::cos(angle), forward ? -std::sin(angle) : std::sin(angle)};
}

std::int64_t step_of(const Sizes& sizes, std::size_t axis) {
  std::int64_t step = 1;
  for (std::size_t i = axis + 1; i < sizes.size(); ++i) step *= sizes[i];
  return step;
}

/// The transform of a tensor along an axis, by definition.
std::vector<Long> transformed(const std::vector<Long>& x, const Sizes& sizes, std::size_t axis, bool forward) {
  std::vector<Long> y(x.size()), roots;
  const std::int64_t n = sizes[axis], step = step_of(sizes, axis);
  for (std::int64_t k = 0; k < n; ++k) roots.push_back(root(k, n, forward));
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(x.size()); ++at) {
    const std::int64_t k = at / step % n, first = at - k * step;
    Long& sum = y[static_cast<std::size_t>(at)];
    for (std::int64_t j = 0; j < n; ++j) {
      const Long a = x[static_cast<std::size_t>(first + j * step)], w = roots[static_cast<std::size_t>(j * k % n)];
      sum += Long(a.real() * w.real() - a.imag() * w.imag(), a.real() * w.imag() + a.imag() * w.real());
    }
  }
  return y;
}

/// The elements with positions below `size` along an axis.
std::vector<Long> cut(const std::vector<Long>& x, const Sizes& sizes, std::size_t axis, std::int64_t size) {
  std::vector<Long> y;
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(x.size()); ++at) {
    if (at / step_of(sizes, axis) % sizes[axis] < size) y.push_back(x[static_cast<std::size_t>(at)]);
  }
  return y;
}

std::vector<Number> rounded(const std::vector<Long>& x) {
  std::vector<Number> y;
  for (const Long& v : x) y.emplace_back(static_cast<double>(v.real()), static_cast<double>(v.imag()));
  return y;
}

struct FftCase {
  FftKind kind = FftKind::complex_to_complex;
  bool forward = true;
  FftNorm norm = FftNorm::none;
  Sizes sizes;  ///< signal sizes
  Sizes axes;
  bool wide = true;  ///< double precision
};

void expect_right(const FftCase& c) {
  const std::int64_t count = product(c.sizes);
  const auto re = random_numbers(count, 1, 3, 8), im = random_numbers(count, 2, 3, 8);
  std::vector<Long> x, y;
  const bool real = c.kind != FftKind::complex_to_complex;
  for (std::size_t i = 0; i < re.size(); ++i) x.emplace_back(re[i], real ? 0 : im[i]);
  y = x;
  std::int64_t n = 1;
  for (const std::int64_t a : c.axes) {
    y = transformed(y, c.sizes, static_cast<std::size_t>(a), c.forward);
    n *= c.sizes[static_cast<std::size_t>(a)];
  }
  const auto last = static_cast<std::size_t>(c.axes.back());
  const std::int64_t half = c.sizes[last] / 2 + 1;
  const long double divisor = c.norm == FftNorm::n        ? n
                              : c.norm == FftNorm::root_n ? std::sqrt(static_cast<long double>(n))
                                                          : 1;
  const DType complex = c.wide ? DType::c128 : DType::c64;
  NodeRun run(Op::fft);
  run.set(AttrKey::kind, static_cast<int>(c.kind));
  run.set(AttrKey::norm, static_cast<int>(c.norm));
  run.set(AttrKey::axes, c.axes);
  Sizes half_sizes = c.sizes;
  half_sizes[last] = half;
  long double largest = 0;
  std::vector<Long> expected;
  if (c.kind == FftKind::complex_to_real) {  // back from the spectrum: n times the signal
    std::vector<Long> spectrum = cut(y, c.sizes, last, half);
    run.set(AttrKey::forward, !c.forward);
    run.set(AttrKey::length, c.sizes[last]);
    for (Long& v : spectrum) {
      largest = std::max(largest, std::abs(v));
      v = c.wide ? Long(static_cast<double>(v.real()), static_cast<double>(v.imag()))
                 : Long(static_cast<float>(v.real()), static_cast<float>(v.imag()));
    }
    run.input(complex, half_sizes, rounded(spectrum));
    for (const Long& v : x) expected.push_back(v * static_cast<long double>(n) / divisor);
    largest *= std::sqrt(static_cast<long double>(n)) / divisor;
  } else {
    run.set(AttrKey::forward, c.forward);
    run.input(real ? (c.wide ? DType::f64 : DType::f32) : complex, c.sizes, rounded(x));
    expected = real ? cut(y, c.sizes, last, half) : y;
    for (Long& v : expected) v /= divisor;
    for (const Long& v : expected) largest = std::max(largest, std::abs(v));
  }
  run.run();
  EXPECT_EQ(run.shape(), c.kind == FftKind::real_to_complex ? half_sizes : c.sizes);
  const std::vector<Number> got = run.output();
  ASSERT_EQ(got.size(), expected.size());
  const long double tolerance =
      (c.wide ? 1.2e-16L : 6e-8L) * 4 * (std::log2(static_cast<long double>(n)) + 2) * std::max(largest, 1.0L);
  long double error = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const long double d = std::abs(Long(got[i]) - expected[i]);
    if (!(d <= error)) error = d;
  }
  EXPECT_LT(error, tolerance) << "kind " << static_cast<int>(c.kind) << " n " << n << " wide " << c.wide;
}

constexpr FftKind kKinds[] = {FftKind::complex_to_complex, FftKind::real_to_complex, FftKind::complex_to_real};

TEST(Fft, EverySmallSize) {
  for (std::int64_t n = 1; n <= 70; ++n) {
    for (const FftKind kind : kKinds) {
      for (const bool wide : {true, false}) expect_right({kind, true, FftNorm::none, {3, n}, {1}, wide});
    }
  }
}

TEST(Fft, LargerSizes) {
  // A power of two, many radices, large primes with and without factors.
  for (const std::int64_t n : {128, 210, 1001, 1009, 1024, 2 * 509, 720, 127 * 6, 2 * 113, 4096, 131}) {
    for (const FftKind kind : kKinds) {
      for (const bool wide : {true, false}) expect_right({kind, false, FftNorm::none, {n}, {0}, wide});
    }
  }
}

TEST(Fft, BothDirectionsAndEveryNorm) {
  for (const FftKind kind : kKinds) {
    for (const bool forward : {true, false}) {
      for (const FftNorm norm : {FftNorm::none, FftNorm::root_n, FftNorm::n}) {
        expect_right({kind, forward, norm, {2, 12}, {1}});
        expect_right({kind, forward, norm, {2, 15}, {1}});
        expect_right({kind, forward, norm, {2, 38}, {1}});
      }
    }
  }
}

TEST(Fft, AnyAxes) {
  for (const FftKind kind : kKinds) {
    for (const Sizes& axes : {Sizes{0}, {1}, {2}, {0, 1}, {1, 0}, {0, 2}, {2, 1, 0}, {0, 1, 2}}) {
      for (const FftNorm norm : {FftNorm::none, FftNorm::n}) expect_right({kind, true, norm, {4, 6, 5}, axes});
      expect_right({kind, false, FftNorm::root_n, {5, 9, 20}, axes});
    }
  }
}

TEST(Fft, ManyLinesOnThreads) {
  for (const FftKind kind : kKinds) {
    expect_right({kind, true, FftNorm::none, {133, 34}, {1}});
    expect_right({kind, true, FftNorm::none, {34, 133}, {0}, false});
  }
}

TEST(Fft, LinesDoNotTouchEachOther) {
  // A line of infinities must not change the transforms of its neighbours.
  std::vector<double> x(5 * 8, 1.0);
  for (std::size_t i = 16; i < 24; ++i) x[i] = INFINITY;
  NodeRun run(Op::fft);
  run.set(AttrKey::kind, static_cast<int>(FftKind::real_to_complex));
  run.set(AttrKey::forward, 1);
  run.set(AttrKey::axes, 1);
  run.input(DType::f32, {5, 8}, x);
  run.run();
  for (const std::size_t line : {0u, 1u, 3u, 4u}) {
    EXPECT_EQ(run.output()[line * 5], Number(8));
    for (std::size_t k = 1; k < 5; ++k) EXPECT_EQ(run.output()[line * 5 + k], Number(0));
  }
}

TEST(Fft, ImaginaryPartsOfTheEndsDoNotCount) {
  NodeRun run(Op::fft);
  run.set(AttrKey::kind, static_cast<int>(FftKind::complex_to_real));
  run.set(AttrKey::forward, 0);
  run.set(AttrKey::axes, 0);
  run.set(AttrKey::length, 4);
  run.input(DType::c128, {3}, std::vector<Number>{{4, 9}, {0, 0}, {0, -7}});
  EXPECT_EQ(run.run().output(), (std::vector<Number>{4, 4, 4, 4}));
}

TEST(Fft, OfNoLines) {
  NodeRun run(Op::fft);
  run.set(AttrKey::kind, static_cast<int>(FftKind::complex_to_complex));
  run.set(AttrKey::forward, 1);
  run.set(AttrKey::axes, 1);
  run.input(DType::c64, {0, 5}, std::vector<Number>{});
  EXPECT_EQ(run.run().shape(), (Sizes{0, 5}));
}

}  // namespace
}  // namespace tern::test
