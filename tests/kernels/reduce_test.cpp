// reduce against sums written out naively in long double, over strides, types and shapes; and PyTorch's rules on NaN,
// ties and empty operands.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <cmath>
#include <limits>

#include "schema/kinds.h"
#include "tests/kernels/node_run.h"

namespace tern {
namespace {

using test::NodeRun;
using test::Number;
constexpr double kReduceNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

NodeRun reduce(ReduceKind kind, DType from, std::vector<std::int64_t> sizes, const std::vector<double>& v,
               std::vector<std::int64_t> axes, DType to, bool keep = false, std::vector<std::int64_t> strides = {}) {
  NodeRun run(Op::reduce);
  run.set(AttrKey::kind, static_cast<std::int64_t>(kind));
  run.set(AttrKey::axes, std::move(axes));
  run.set(AttrKey::keepdims, keep);
  run.set(AttrKey::dtype, static_cast<std::int64_t>(to));
  run.set_number(AttrKey::correction, {1});
  run.input(from, sizes, v, std::move(strides));
  run.run();
  return run;
}

double real_output(const NodeRun& run, std::size_t i = 0) {
  return run.output()[i].real();
}

/// The elements of every output, in order, for a reduction of `axes` of a row-major tensor.
std::vector<std::vector<double>> lines(const std::vector<std::int64_t>& sizes, const std::vector<double>& v,
                                       const std::vector<bool>& reduced) {
  std::int64_t outputs = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) outputs *= reduced[i] ? 1 : sizes[i];
  std::vector<std::vector<double>> r(static_cast<std::size_t>(outputs));
  for (std::size_t k = 0; k < v.size(); ++k) {
    std::int64_t rest = static_cast<std::int64_t>(k), out = 0, scale = 1;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      if (!reduced[i]) {
        out += rest % sizes[i] * scale;
        scale *= sizes[i];
      }
      rest /= sizes[i];
    }
    r[static_cast<std::size_t>(out)].push_back(v[k]);
  }
  return r;
}

struct Layout {
  std::vector<std::int64_t> sizes, strides;
};

TEST(Reduce, EveryKindOverEveryLayoutAndChoiceOfAxes) {
  const std::vector<Layout> layouts = {
      {{5, 3, 40}, {}},   {{5, 3, 40}, {1, 5, 15}}, {{600, 3, 2}, {}},  {{2, 33, 17}, {561, 1, 33}}, {{3, 700, 1}, {}},
      {{9, 1, 1100}, {}}, {{19, 2, 40}, {}},        {{120, 5, 11}, {}}, {{2, 301, 3}, {}},           {{90, 4, 3}, {}}};
  for (const Layout& l : layouts) {
    const auto v = test::random_numbers(test::product(l.sizes), 7, 9, 4);
    for (int mask = 0; mask < 8; ++mask) {
      std::vector<bool> reduced(3);
      std::vector<std::int64_t> axes;
      for (int i = 0; i < 3; ++i) {
        reduced[static_cast<std::size_t>(i)] = mask == 0 || (mask >> i & 1) != 0;
        if (mask >> i & 1) axes.push_back(i - 3);
      }
      const auto expected = lines(l.sizes, v, reduced);
      for (DType t : {DType::f32, DType::f64, DType::f16, DType::i32}) {
        std::vector<double> x = v;
        if (t == DType::i32) {
          for (double& e : x) e = std::trunc(e);
        }
        const auto in = t == DType::i32 ? lines(l.sizes, x, reduced) : expected;
        const NodeRun sum =
            reduce(ReduceKind::sum, t, l.sizes, x, axes, t == DType::i32 ? DType::i64 : DType::f64, false, l.strides);
        const NodeRun most = reduce(ReduceKind::max, t, l.sizes, x, axes, t, true, l.strides);
        const NodeRun least = reduce(ReduceKind::min, t, l.sizes, x, axes, t, false, l.strides);
        ASSERT_EQ(sum.output().size(), in.size());
        for (std::size_t i = 0; i < in.size(); ++i) {
          long double s = 0;
          for (double e : in[i]) s += e;
          EXPECT_EQ(real_output(sum, i), static_cast<double>(s));  // quarters add up exactly
          EXPECT_EQ(real_output(most, i), *std::max_element(in[i].begin(), in[i].end()));
          EXPECT_EQ(real_output(least, i), *std::min_element(in[i].begin(), in[i].end()));
        }
        if (axes.size() > 1) continue;
        const NodeRun where = reduce(ReduceKind::argmax, t, l.sizes, x, axes, DType::i64, false, l.strides);
        for (std::size_t i = 0; i < in.size(); ++i) {
          EXPECT_EQ(real_output(where, i),
                    static_cast<double>(std::max_element(in[i].begin(), in[i].end()) - in[i].begin()));
        }
      }
      const NodeRun var = reduce(ReduceKind::var, DType::f32, l.sizes, v, axes, DType::f64, false, l.strides);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        long double mean = 0, d = 0;
        for (double e : expected[i]) mean += e;
        mean /= static_cast<long double>(expected[i].size());
        for (double e : expected[i]) d += (e - mean) * (e - mean);
        if (expected[i].size() == 1) {
          EXPECT_TRUE(std::isnan(real_output(var, i)));
        } else {
          EXPECT_NEAR(real_output(var, i), static_cast<double>(d / static_cast<long double>(expected[i].size() - 1)),
                      1e-12);
        }
      }
    }
  }
}

TEST(Reduce, LongSumsOfFloatAreAsGoodAsTheTypeAllows) {
  const std::int64_t n = 500'001;
  std::vector<double> v(static_cast<std::size_t>(n), static_cast<double>(0.1f));
  EXPECT_EQ(static_cast<float>(real_output(reduce(ReduceKind::sum, DType::f32, {n}, v, {}, DType::f32))),
            static_cast<float>(static_cast<double>(0.1f) * static_cast<double>(n)));
  EXPECT_EQ(real_output(reduce(ReduceKind::mean, DType::f32, {n}, v, {0}, DType::f32)), static_cast<double>(0.1f));
  v[234'567] = 7;
  EXPECT_EQ(real_output(reduce(ReduceKind::argmax, DType::f32, {n}, v, {}, DType::i64)), 234'567);
  v[400'000] = kReduceNaN;
  EXPECT_EQ(real_output(reduce(ReduceKind::argmin, DType::f32, {n}, v, {}, DType::i64)), 400'000);
}

TEST(Reduce, NaNWinsAndTheFirstOfEqualsIsNamed) {
  const std::vector<double> v = {1, kReduceNaN, 3, kReduceNaN, 3, 3};
  EXPECT_TRUE(std::isnan(real_output(reduce(ReduceKind::max, DType::f32, {6}, v, {}, DType::f32))));
  EXPECT_TRUE(std::isnan(real_output(reduce(ReduceKind::min, DType::f64, {6}, v, {}, DType::f64))));
  EXPECT_EQ(real_output(reduce(ReduceKind::argmax, DType::f32, {6}, v, {}, DType::i64)), 1);
  EXPECT_EQ(real_output(reduce(ReduceKind::argmin, DType::bf16, {6}, v, {0}, DType::i64)), 1);
  EXPECT_EQ(real_output(reduce(ReduceKind::argmax, DType::i8, {4}, {1, 5, 5, 2}, {}, DType::i64)), 1);
  // Adjacent columns, too.
  const NodeRun columns =
      reduce(ReduceKind::argmax, DType::f32, {3, 2}, {1, 5, kReduceNaN, 5, kReduceNaN, 1}, {0}, DType::i64);
  EXPECT_EQ(real_output(columns, 0), 1);
  EXPECT_EQ(real_output(columns, 1), 0);
}

TEST(Reduce, NothingGivesTheNeutralElementOrAnError) {
  EXPECT_EQ(real_output(reduce(ReduceKind::sum, DType::f32, {0}, {}, {}, DType::f32)), 0);
  EXPECT_EQ(real_output(reduce(ReduceKind::prod, DType::i32, {0}, {}, {}, DType::i64)), 1);
  EXPECT_TRUE(std::isnan(real_output(reduce(ReduceKind::mean, DType::f32, {0}, {}, {}, DType::f32))));
  EXPECT_EQ(real_output(reduce(ReduceKind::any, DType::f32, {0}, {}, {}, DType::boolean)), 0);
  EXPECT_EQ(real_output(reduce(ReduceKind::all, DType::f32, {0}, {}, {}, DType::boolean)), 1);
  EXPECT_EQ(reduce(ReduceKind::sum, DType::f32, {2, 0, 3}, {}, {1}, DType::f32).output(), std::vector<Number>(6, 0));
  EXPECT_TRUE(reduce(ReduceKind::max, DType::f32, {0, 3}, {}, {1}, DType::f32).output().empty());
  EXPECT_THROW(reduce(ReduceKind::max, DType::f32, {0}, {}, {}, DType::f32), Error);
  EXPECT_THROW(reduce(ReduceKind::argmin, DType::f32, {2, 0}, {}, {1}, DType::i64), Error);
}

TEST(Reduce, ScalarsBooleansAndConversions) {
  EXPECT_EQ(real_output(reduce(ReduceKind::sum, DType::f32, {}, {2.5}, {}, DType::f32)), 2.5);
  EXPECT_EQ(real_output(reduce(ReduceKind::sum, DType::boolean, {4}, {1, 0, 1, 1}, {}, DType::i64)), 3);
  EXPECT_EQ(real_output(reduce(ReduceKind::any, DType::f32, {2}, {0, kReduceNaN}, {}, DType::boolean)), 1);
  EXPECT_EQ(real_output(reduce(ReduceKind::all, DType::i64, {2}, {5, 0}, {}, DType::u8)), 0);
  EXPECT_EQ(real_output(reduce(ReduceKind::sum, DType::u8, {2}, {200, 100}, {}, DType::u8)), 44);  // wraps
  EXPECT_EQ(real_output(reduce(ReduceKind::bit_xor, DType::i64, {3}, {5, 9, -1}, {}, DType::i64)), 5 ^ 9 ^ -1);
  EXPECT_EQ(real_output(reduce(ReduceKind::sum, DType::f16, {3000}, std::vector<double>(3000, 1), {}, DType::f16)),
            3000);
  EXPECT_EQ(reduce(ReduceKind::sum, DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}, {1}, DType::f32, true).shape(),
            (std::vector<std::int64_t>{2, 1}));
}

TEST(Reduce, Complex) {
  NodeRun run(Op::reduce);
  run.set(AttrKey::kind, static_cast<std::int64_t>(ReduceKind::prod));
  run.set(AttrKey::axes, std::vector<std::int64_t>{});
  run.set(AttrKey::dtype, static_cast<std::int64_t>(DType::c64));
  run.input(DType::c64, {3}, std::vector<Number>{{1, 2}, {0, 1}, {3, -1}});
  EXPECT_EQ(run.run().output()[0], Number(1, 2) * Number(0, 1) * Number(3, -1));
  NodeRun var(Op::reduce);
  var.set(AttrKey::kind, static_cast<std::int64_t>(ReduceKind::var));
  var.set(AttrKey::axes, std::vector<std::int64_t>{});
  var.set(AttrKey::dtype, static_cast<std::int64_t>(DType::f64));
  var.set_number(AttrKey::correction, {0});
  var.input(DType::c128, {2}, std::vector<Number>{{1, 2}, {3, -2}});
  EXPECT_EQ(var.run().output()[0], Number(5));  // |1+2j - 2|^2 and its twin, halved
}

TEST(Reduce, VarianceKeepsItsDigitsFarFromZero) {
  std::vector<double> v(1000);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1e9 + static_cast<double>(i % 2);
  EXPECT_NEAR(real_output(reduce(ReduceKind::var, DType::f64, {1000}, v, {}, DType::f64)), 250.0 / 999, 1e-12);
  EXPECT_NEAR(real_output(reduce(ReduceKind::var, DType::f64, {1000, 1}, v, {0}, DType::f64)), 250.0 / 999, 1e-6);
  EXPECT_TRUE(std::isnan(real_output(reduce(ReduceKind::var, DType::f64, {2}, {1, kInf}, {}, DType::f64))));
}

}  // namespace
}  // namespace tern
