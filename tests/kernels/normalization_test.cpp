// softmax and the normalizations against their definitions in long double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/node_run.h"

namespace tern {
namespace {

using test::NodeRun;
constexpr double kEpsilon = 1e-5;

double norm_tolerance(DType t) {
  return t == DType::f64 ? 1e-12 : t == DType::f32 ? 2e-6 : 1e-2;
}

TEST(Softmax, AlongEveryAxisTypeAndLayout) {
  const std::vector<std::int64_t> sizes = {3, 37, 5};
  const auto v = test::random_numbers(555, 2, 12, 8);
  for (DType t : {DType::f32, DType::f64, DType::bf16}) {
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      for (const std::vector<std::int64_t>& strides : {std::vector<std::int64_t>{}, {1, 15, 3}}) {
        for (bool log : {false, true}) {
          NodeRun run(Op::softmax);
          run.set(AttrKey::axis, axis);
          run.set(AttrKey::log, log);
          run.input(t, sizes, v, strides);
          const auto y = run.run().output();
          const std::int64_t step = axis == 2 ? 1 : axis == 1 ? 5 : 185, n = sizes[static_cast<std::size_t>(axis)];
          for (std::int64_t k = 0; k < 555; ++k) {
            const std::int64_t first = k - k / step % n * step;
            long double sum = 0;
            for (std::int64_t i = 0; i < n; ++i) {
              sum += std::exp(static_cast<long double>(v[static_cast<std::size_t>(first + i * step)]));
            }
            const auto p = std::exp(static_cast<long double>(v[static_cast<std::size_t>(k)])) / sum;
            const double expected = static_cast<double>(log ? std::log(p) : p);
            ASSERT_NEAR(y[static_cast<std::size_t>(k)].real(), expected, norm_tolerance(t) * (1 + std::fabs(expected)));
          }
        }
      }
    }
  }
}

TEST(Softmax, InfinitiesAndTinyProbabilities) {
  const double inf = std::numeric_limits<double>::infinity();
  NodeRun run(Op::softmax);
  run.set(AttrKey::axis, 1);
  run.input(DType::f32, {4, 3}, std::vector<double>{0, -inf, -90, 0, -87, -86, -inf, -inf, -inf, 1, inf, 2});
  const auto y = run.run().output();
  EXPECT_EQ(y[0].real(), 1);
  EXPECT_EQ(y[1].real(), 0);
  EXPECT_NEAR(y[2].real(), std::exp(-90.0), static_cast<double>(std::numeric_limits<float>::min()));  // subnormal or 0
  EXPECT_NEAR(y[4].real() / std::exp(-87.0), 1, 1e-6);
  EXPECT_NEAR(y[5].real() / std::exp(-86.0), 1, 1e-6);
  for (std::size_t i = 6; i < 12; ++i) EXPECT_TRUE(std::isnan(y[i].real()));
}

struct Moments {
  long double mean = 0, rstd = 0;
};
Moments moments(const double* v, std::int64_t n, std::int64_t step = 1) {
  Moments m;
  for (std::int64_t i = 0; i < n; ++i) m.mean += v[i * step];
  m.mean /= static_cast<long double>(n);
  long double d = 0;
  for (std::int64_t i = 0; i < n; ++i) d += (v[i * step] - m.mean) * (v[i * step] - m.mean);
  m.rstd = 1 / std::sqrt(d / static_cast<long double>(n) + static_cast<long double>(kEpsilon));
  return m;
}

TEST(LayerNorm, OverTheLastAxesWithAndWithoutParameters) {
  const auto v = test::random_numbers(4 * 3 * 19, 4, 20, 8), w = test::random_numbers(57, 5, 8, 8),
             s = test::random_numbers(57, 6, 8, 8);
  for (DType t : {DType::f32, DType::f64, DType::f16}) {
    for (int parameters = 0; parameters < 4; ++parameters) {
      NodeRun run(Op::layer_norm);
      run.set(AttrKey::k, 2);
      run.set_number(AttrKey::epsilon, {kEpsilon});
      run.set(AttrKey::dtype, static_cast<std::int64_t>(t == DType::f64 ? t : DType::f32));
      run.input(t, {4, 3, 19}, v);
      parameters & 1 ? run.input(t, {3, 19}, w) : run.no_input();
      parameters & 2 ? run.input(t, {3, 19}, s) : run.no_input();
      run.run();
      EXPECT_EQ(run.shape(1), (std::vector<std::int64_t>{4, 1, 1}));
      for (std::size_t k = 0; k < v.size(); ++k) {
        const Moments m = moments(v.data() + k / 57 * 57, 57);
        long double y = (v[k] - m.mean) * m.rstd;
        if (parameters & 1) y *= w[k % 57];
        if (parameters & 2) y += s[k % 57];
        ASSERT_NEAR(run.output()[k].real(), static_cast<double>(y), 4 * norm_tolerance(t));
        if (k % 57 == 0) {
          EXPECT_NEAR(run.output(1)[k / 57].real(), static_cast<double>(m.mean), 1e-6);
          EXPECT_NEAR(run.output(2)[k / 57].real(), static_cast<double>(m.rstd), 1e-6);
        }
      }
    }
  }
}

TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  const auto v = test::random_numbers(70, 8, 20, 8), w = test::random_numbers(35, 9, 8, 8);
  NodeRun run(Op::rms_norm);
  run.set(AttrKey::k, 1);
  run.set_number(AttrKey::epsilon, {kEpsilon});
  run.input(DType::f32, {2, 35}, v);
  run.input(DType::f32, {35}, w);
  const auto y = run.run().output();
  for (std::size_t k = 0; k < 70; ++k) {
    long double squares = 0;
    for (std::size_t i = 0; i < 35; ++i) squares += v[k / 35 * 35 + i] * v[k / 35 * 35 + i];
    const long double expected = v[k] / std::sqrt(squares / 35 + static_cast<long double>(kEpsilon)) * w[k % 35];
    EXPECT_NEAR(y[k].real(), static_cast<double>(expected), 2e-6);
  }
}

TEST(GroupNorm, NormalisesGroupsOfChannels) {
  const auto v = test::random_numbers(2 * 6 * 11, 10, 20, 8), w = test::random_numbers(6, 11, 8, 8),
             s = test::random_numbers(6, 12, 8, 8);
  NodeRun run(Op::group_norm);
  run.set(AttrKey::groups, 3);
  run.set_number(AttrKey::epsilon, {kEpsilon});
  run.input(DType::f32, {2, 6, 11}, v);
  run.input(DType::f32, {6}, w);
  run.input(DType::f32, {6}, s);
  run.run();
  EXPECT_EQ(run.shape(1), (std::vector<std::int64_t>{2, 3}));
  for (std::size_t k = 0; k < v.size(); ++k) {
    const Moments m = moments(v.data() + k / 22 * 22, 22);
    const std::size_t c = k / 11 % 6;
    EXPECT_NEAR(run.output()[k].real(), static_cast<double>((v[k] - m.mean) * m.rstd * w[c] + s[c]), 4e-6);
  }
}

TEST(BatchNorm, UsesTheGivenStatisticsPerChannel) {
  for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{4, 3}, {2, 3, 7}}) {
    const std::int64_t n = test::product(sizes), inner = sizes.size() == 2 ? 1 : 7;
    const auto v = test::random_numbers(n, 13, 20, 8);
    const std::vector<double> mean = {0.5, -1, 2}, var = {1, 0.25, 4}, w = {2, 1, -1}, s = {0, 1, 0.5};
    NodeRun run(Op::batch_norm);
    run.set_number(AttrKey::epsilon, {kEpsilon});
    run.input(DType::f32, sizes, v);
    run.input(DType::f32, {3}, mean);
    run.input(DType::f32, {3}, var);
    run.input(DType::f32, {3}, w);
    run.input(DType::f64, {3}, s);
    const auto y = run.run().output();
    for (std::size_t k = 0; k < v.size(); ++k) {
      const std::size_t c = k / static_cast<std::size_t>(inner) % 3;
      EXPECT_NEAR(y[k].real(), (v[k] - mean[c]) / std::sqrt(var[c] + kEpsilon) * w[c] + s[c], 4e-6);
    }
  }
}

}  // namespace
}  // namespace tern
