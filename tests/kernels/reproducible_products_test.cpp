// Products and convolutions in reproducible mode against the chain of fused multiply-adds defined in
// docs/reproducible.md, written out as scalars: every bit must be equal.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "dtypes/cpu_features.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/reproducible/product.h"

namespace tern {
namespace {

template <class T>
std::vector<T> uneven(std::int64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& x : v) {
    const double re = normal(random) * std::exp(3 * normal(random)), im = normal(random);
    if constexpr (std::is_floating_point_v<T>) {
      x = static_cast<T>(re);
    } else {
      x = T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im));
    }
  }
  return v;
}

template <class T>
T chain(T a, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fma(a, b, c);
  } else {
    return T(std::fma(-a.imag(), b.imag(), std::fma(a.real(), b.real(), c.real())),
             std::fma(a.imag(), b.real(), std::fma(a.real(), b.imag(), c.imag())));
  }
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Element (i, p) of a at i * a_row + p * a_column, element (p, j) of b at p * b_row + j * b_column.
template <class T>
void expect_chains(std::int64_t m, std::int64_t n, std::int64_t k, bool columns_of_b_in_one_piece) {
  SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k << (columns_of_b_in_one_piece ? ", b^T" : ""));
  const std::vector<T> a = uneven<T>(m * k, 1), b = uneven<T>(k * n, 2);
  const std::int64_t b_row = columns_of_b_in_one_piece ? 1 : n, b_column = columns_of_b_in_one_piece ? k : 1;
  std::vector<T> expected(static_cast<std::size_t>(m * n)), c(expected.size(), T(7));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        sum = chain(a[static_cast<std::size_t>(i * k + p)], b[static_cast<std::size_t>(p * b_row + j * b_column)], sum);
      }
      expected[static_cast<std::size_t>(i * n + j)] = sum;
    }
  }
  reproducible::product<T>(m, n, k, {a.data(), k, 1}, {b.data(), b_row, b_column}, c.data(), n);
  EXPECT_TRUE(same_bits(c, expected));
}

TEST(ReproducibleProduct, IsOneChainInTheOrderOfK) {
  for (const bool transposed : {false, true}) {
    for (const std::int64_t m : {1, 2, 5, 12, 30}) {
      for (const std::int64_t n : {1, 3, 16, 33, 100}) expect_chains<float>(m, n, 37, transposed);
    }
    expect_chains<float>(3, 40, 700, transposed);  // longer than a block of k
    expect_chains<float>(250, 7, 300, transposed);
    expect_chains<double>(7, 30, 50, transposed);
    expect_chains<std::complex<float>>(4, 9, 20, transposed);
    expect_chains<std::complex<double>>(4, 9, 20, transposed);
  }
  expect_chains<float>(4, 6, 0, false);
}

/// Images [batch, height, width, groups * in] with zeros around; weights [groups * out, in, kernel, kernel].
std::vector<float> convolve_by_definition(const channels_last::ChannelsLastShape& c, const std::vector<float>& x,
                                          const std::vector<float>& weight, const std::vector<float>& bias) {
  const cpu::WindowAxis &h = c.window[1], &w = c.window[2];
  std::vector<float> y;
  for (std::int64_t n = 0; n < c.batch; ++n) {
    for (std::int64_t i = 0; i < h.out * w.out; ++i) {
      for (std::int64_t o = 0; o < c.groups * c.out; ++o) {
        float sum = 0;
        for (std::int64_t tap = 0; tap < h.kernel * w.kernel; ++tap) {
          const std::int64_t row = h.position(i / w.out, tap / w.kernel),
                             column = w.position(i % w.out, tap % w.kernel);
          const bool inside = row >= 0 && row < h.in && column >= 0 && column < w.in;
          for (std::int64_t k = 0; k < c.in; ++k) {
            const std::int64_t channel = o / c.out * c.in + k;
            const std::int64_t at = ((n * h.in + row) * w.in + column) * c.groups * c.in + channel;
            sum = std::fma(inside ? x[static_cast<std::size_t>(at)] : 0.0F,
                           weight[static_cast<std::size_t>((o * c.in + k) * h.kernel * w.kernel + tap)], sum);
          }
        }
        y.push_back(sum + bias[static_cast<std::size_t>(o)]);
      }
    }
  }
  return y;
}

void expect_definition(std::int64_t groups, std::int64_t in, std::int64_t out, cpu::WindowAxis axis) {
  SCOPED_TRACE(::testing::Message() << groups << " groups of " << in << " to " << out << ", kernel " << axis.kernel);
  axis.out = (axis.in + 2 * axis.padding_before - axis.dilation * (axis.kernel - 1) - 1) / axis.stride + 1;
  channels_last::ChannelsLastShape c;
  c.window = {cpu::WindowAxis{}, axis, axis};
  c.batch = 2;
  c.groups = groups;
  c.in = in;
  c.out = out;
  c.is_ordered = true;
  const std::vector<float> x = uneven<float>(c.batch * axis.in * axis.in * groups * in, 3),
                           weight = uneven<float>(groups * out * in * axis.kernel * axis.kernel, 4),
                           bias = uneven<float>(groups * out, 5);
  const std::vector<float> expected = convolve_by_definition(c, x, weight, bias);
  std::vector<float> y(expected.size());
  (c.depthwise() ? channels_last::convolve_depthwise : channels_last::convolve)(
      c, {x.data(), weight.data(), bias.data(), y.data()}, {});
  EXPECT_TRUE(same_bits(y, expected));
}

TEST(ReproducibleConvolution, IsOneChainOverTheKernelAndItsChannels) {
  if (is_baseline_cpu()) GTEST_SKIP() << "the loops multiply and add apart here";
  expect_definition(1, 3, 40, {.in = 9, .kernel = 3, .stride = 2, .padding_before = 1});
  expect_definition(1, 300, 17,
                    {.in = 5, .kernel = 3, .padding_before = 1});  // more products than are added at a time elsewhere
  expect_definition(2, 20, 32, {.in = 6, .kernel = 1});
  expect_definition(1, 8, 64, {.in = 8, .kernel = 3, .dilation = 2, .padding_before = 2});
  expect_definition(20, 1, 1, {.in = 10, .kernel = 5, .stride = 2, .padding_before = 2});
  expect_definition(64, 1, 1, {.in = 7, .kernel = 3, .padding_before = 1});
}

}  // namespace
}  // namespace tern
