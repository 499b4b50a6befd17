// sort, topk, select_reduce, scan and searchsorted against std::stable_sort and loops, and PyTorch's documented order
// of NaN.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "schema/kinds.h"
#include "tests/kernels/node_run.h"

namespace tern {
namespace {

using test::NodeRun;
using test::Number;
constexpr double kOrderNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> reals_order(const NodeRun& run, std::size_t i = 0) {
  std::vector<double> r;
  for (Number n : run.output(i)) r.push_back(n.real());
  return r;
}

bool ascends(double a, double b) {
  return a < b || (!std::isnan(a) && std::isnan(b));
}

NodeRun sort(DType t, std::vector<std::int64_t> sizes, const std::vector<double>& v, std::int64_t axis, bool descending,
             bool stable, std::vector<std::int64_t> strides = {}) {
  NodeRun run(Op::sort);
  run.set(AttrKey::axis, axis);
  run.set(AttrKey::descending, descending);
  run.set(AttrKey::stable, stable);
  run.input(t, sizes, v, std::move(strides));
  run.run();
  return run;
}

TEST(Sort, IsStableInBothDirectionsWithNaNLargest) {
  auto v = test::random_numbers(1000, 3, 5);
  v[17] = v[800] = kOrderNaN;
  for (DType t : {DType::f32, DType::bf16, DType::f64}) {
    for (bool descending : {false, true}) {
      std::vector<std::int64_t> order(v.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        const double x = v[static_cast<std::size_t>(a)], y = v[static_cast<std::size_t>(b)];
        return descending ? ascends(y, x) : ascends(x, y);
      });
      const auto at = reals_order(sort(t, {1000}, v, 0, descending, true), 1);
      for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(at[i], static_cast<double>(order[i]));
    }
  }
}

TEST(Sort, LongLinesOfDistinctRepeatedAndSpecialNumbers) {
  std::vector<double> distinct;
  for (int i = 0; i < 700; ++i) distinct.push_back((i * 337 % 700 - 350) * 0.25);
  std::vector<double> repeated = test::random_numbers(700, 4, 3), special = distinct;
  special[3] = special[400] = -0.0;
  special[5] = std::numeric_limits<double>::infinity();
  special[699] = kOrderNaN;
  const auto short_line = [](const std::vector<double>& v) { return std::vector<double>(v.begin(), v.begin() + 100); };
  for (const std::vector<double>& v :
       {distinct, repeated, special, short_line(distinct), short_line(repeated), short_line(special)}) {
    for (bool descending : {false, true}) {
      std::vector<double> expected = v;
      std::sort(expected.begin(), expected.end(),
                [&](double a, double b) { return descending ? ascends(b, a) : ascends(a, b); });
      for (bool positions : {true, false}) {
        NodeRun run(Op::sort);
        run.set(AttrKey::axis, 0);
        run.set(AttrKey::descending, descending);
        run.set(AttrKey::stable, 0);
        run.input(DType::f32, {static_cast<std::int64_t>(v.size())}, v);
        if (!positions) run.unwanted(1);
        run.run();
        const std::vector<double> sorted = reals_order(run);
        const std::vector<double> at = positions ? reals_order(run, 1) : std::vector<double>{};
        for (std::size_t i = 0; i < v.size(); ++i) {
          ASSERT_TRUE(sorted[i] == expected[i] || (std::isnan(sorted[i]) && std::isnan(expected[i]))) << i;
          if (!positions) continue;
          const double source = v[static_cast<std::size_t>(at[i])];
          ASSERT_TRUE(source == sorted[i] || (std::isnan(source) && std::isnan(sorted[i]))) << i;
        }
      }
    }
  }
}

TEST(Sort, AnyAxisAndStridesWithValuesBesidePositions) {
  const auto v = test::random_numbers(60, 5, 50);
  for (bool stable : {false, true}) {
    for (const std::vector<std::int64_t>& strides : {std::vector<std::int64_t>{}, {1, 3, 12}}) {
      const NodeRun run = sort(DType::i16, {3, 4, 5}, v, 1, false, stable, strides);
      const auto values = reals_order(run), at = reals_order(run, 1);
      for (std::size_t a = 0; a < 3; ++a) {
        for (std::size_t b = 0; b < 5; ++b) {
          for (std::size_t i = 0; i < 4; ++i) {
            const std::size_t k = a * 20 + i * 5 + b;
            EXPECT_EQ(values[k], v[a * 20 + static_cast<std::size_t>(at[k]) * 5 + b]);
            if (i > 0) {
              EXPECT_LE(values[k - 5], values[k]);
            }
          }
        }
      }
    }
  }
}

TEST(TopK, GivesTheFirstOfASort) {
  auto v = test::random_numbers(900, 11, 400, 4);
  v[100] = kOrderNaN;
  for (std::int64_t k : {0, 1, 5, 450, 900}) {
    for (bool largest : {false, true}) {
      NodeRun run(Op::topk);
      run.set(AttrKey::axis, -1);
      run.set(AttrKey::k, k);
      run.set(AttrKey::largest, largest);
      run.input(DType::f32, {900}, v);
      run.run();
      auto sorted = v;
      std::sort(sorted.begin(), sorted.end(),
                [&](double a, double b) { return largest ? ascends(b, a) : ascends(a, b); });
      const auto values = reals_order(run), at = reals_order(run, 1);
      ASSERT_EQ(values.size(), static_cast<std::size_t>(k));
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_TRUE(values[i] == sorted[i] || (std::isnan(values[i]) && std::isnan(sorted[i])));
        const double from = v[static_cast<std::size_t>(at[i])];
        EXPECT_TRUE(values[i] == from || (std::isnan(values[i]) && std::isnan(from)));
      }
    }
  }
}

std::pair<double, double> select(SelectKind kind, const std::vector<double>& v, std::int64_t k = 1) {
  NodeRun run(Op::select_reduce);
  run.set(AttrKey::kind, static_cast<std::int64_t>(kind));
  run.set(AttrKey::axis, 0);
  run.set(AttrKey::k, k);
  run.input(DType::f32, {static_cast<std::int64_t>(v.size())}, v);
  run.run();
  return {run.output(0)[0].real(), run.output(1)[0].real()};
}

TEST(SelectReduce, MedianIsTheLowerMiddleAndNaNWins) {
  EXPECT_EQ(select(SelectKind::median, {5, 1, 4, 2}), std::pair(2.0, 3.0));
  EXPECT_TRUE(std::isnan(select(SelectKind::median, {5, kOrderNaN, 4}).first));
  EXPECT_EQ(select(SelectKind::median, {5, kOrderNaN, 4}).second, 1);
  EXPECT_EQ(select(SelectKind::nanmedian, {5, kOrderNaN, 4}), std::pair(4.0, 2.0));
  EXPECT_TRUE(std::isnan(select(SelectKind::nanmedian, {kOrderNaN, kOrderNaN}).first));
}

TEST(SelectReduce, ModeMaxAndKthValue) {
  EXPECT_EQ(select(SelectKind::mode, {3, 1, 3, 1, 2}).first, 1);  // the smallest of equally frequent values
  EXPECT_EQ(select(SelectKind::mode, {7, 7, 1}).first, 7);
  EXPECT_EQ(select(SelectKind::max, {1, 9, 9}), std::pair(9.0, 1.0));
  EXPECT_EQ(select(SelectKind::min, {1, kOrderNaN, 0, kOrderNaN}).second, 1);
  const auto v = test::random_numbers(501, 23, 100000, 2);
  auto sorted = v;
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t k : {1, 2, 250, 500, 501}) {
    const auto [value, at] = select(SelectKind::kthvalue, v, k);
    EXPECT_EQ(value, sorted[static_cast<std::size_t>(k - 1)]);
    EXPECT_EQ(value, v[static_cast<std::size_t>(at)]);
  }
  EXPECT_TRUE(std::isnan(select(SelectKind::kthvalue, {kOrderNaN, 1, 2}, 3).first));
  EXPECT_THROW(select(SelectKind::kthvalue, {1, 2}, 3), Error);
}

TEST(SelectReduce, ExtremaOfLinesSideBySide) {
  constexpr std::int64_t kPlanes = 3, kLength = 7, kLines = 600;
  std::vector<double> v = test::random_numbers(kPlanes * kLength * kLines, 5, 4);
  for (std::size_t i = 0; i < v.size(); i += 37) v[i] = kOrderNaN;
  for (const SelectKind kind : {SelectKind::max, SelectKind::min}) {
    for (const DType t : {DType::f32, DType::bf16, DType::f64}) {
      NodeRun run(Op::select_reduce);
      run.set(AttrKey::kind, static_cast<std::int64_t>(kind));
      run.set(AttrKey::axis, 1);
      run.set(AttrKey::k, 1);
      run.input(t, {kPlanes, kLength, kLines}, v);
      run.run();
      const auto extrema = run.output(0), places = run.output(1);
      for (std::int64_t o = 0; o < kPlanes * kLines; ++o) {
        const auto at = [&](std::int64_t i) {
          return v[static_cast<std::size_t>((o / kLines * kLength + i) * kLines + o % kLines)];
        };
        std::int64_t place = 0;
        for (std::int64_t i = 1; i < kLength && !std::isnan(at(place)); ++i) {
          if (std::isnan(at(i)) || (kind == SelectKind::max ? at(i) > at(place) : at(i) < at(place))) place = i;
        }
        const double extremum = extrema[static_cast<std::size_t>(o)].real();
        ASSERT_EQ(places[static_cast<std::size_t>(o)].real(), static_cast<double>(place)) << o;
        ASSERT_TRUE(extremum == at(place) || (std::isnan(extremum) && std::isnan(at(place)))) << o;
      }
    }
  }
}

NodeRun scan(ScanKind kind, DType t, std::vector<std::int64_t> sizes, const std::vector<double>& v, std::int64_t axis,
             std::vector<std::int64_t> strides = {}) {
  NodeRun run(Op::scan);
  run.set(AttrKey::kind, static_cast<std::int64_t>(kind));
  run.set(AttrKey::axis, axis);
  run.input(t, sizes, v, std::move(strides));
  run.run();
  return run;
}

TEST(Scan, SumsAlongEveryAxis) {
  const std::vector<std::int64_t> sizes = {3, 600, 2};
  const auto v = test::random_numbers(3600, 9, 8, 4);
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    for (const std::vector<std::int64_t>& strides : {std::vector<std::int64_t>{}, {600, 1, 1800}}) {
      const auto y = reals_order(scan(ScanKind::cumsum, DType::f32, sizes, v, axis, strides));
      const std::int64_t step = axis == 2 ? 1 : axis == 1 ? 2 : 1200, n = sizes[static_cast<std::size_t>(axis)];
      for (std::int64_t k = 0; k < 3600; ++k) {
        const double before = k / step % n == 0 ? 0 : y[static_cast<std::size_t>(k - step)];
        ASSERT_EQ(y[static_cast<std::size_t>(k)], before + v[static_cast<std::size_t>(k)]);
      }
    }
  }
}

TEST(Scan, ManyShortLinesAndFewColumns) {
  const std::vector<std::int64_t> shapes[] = {{203, 5}, {101, 64}, {3, 900, 7}, {40, 6, 9}, {1001, 1}};
  for (const std::vector<std::int64_t>& sizes : shapes) {
    std::int64_t total = 1;
    for (const std::int64_t n : sizes) total *= n;
    const auto v = test::random_numbers(total, 9, 8, 4);
    const auto rank = static_cast<std::int64_t>(sizes.size());
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      std::int64_t step = 1;
      for (std::int64_t d = axis + 1; d < rank; ++d) step *= sizes[static_cast<std::size_t>(d)];
      const std::int64_t n = sizes[static_cast<std::size_t>(axis)];
      const auto sums = reals_order(scan(ScanKind::cumsum, DType::f64, sizes, v, axis));
      const NodeRun largest = scan(ScanKind::cummax, DType::bf16, sizes, v, axis);
      const auto tops = reals_order(largest), places = reals_order(largest, 1);
      for (std::int64_t k = 0; k < total; ++k) {
        const auto i = static_cast<std::size_t>(k), before = static_cast<std::size_t>(k - step);
        const std::int64_t place = k / step % n;
        const bool reaches = place == 0 || v[i] >= tops[before];
        ASSERT_EQ(sums[i], (place == 0 ? 0 : sums[before]) + v[i]);
        ASSERT_EQ(tops[i], reaches ? v[i] : tops[before]);
        ASSERT_EQ(places[i], reaches ? static_cast<double>(place) : places[before]);
      }
    }
  }
}

TEST(Scan, ExtremaNameTheLastOfEqualsAndKeepNaN) {
  const NodeRun run = scan(ScanKind::cummax, DType::f32, {6}, {1, 3, 3, 2, kOrderNaN, 5}, 0);
  const auto v = reals_order(run), at = reals_order(run, 1);
  EXPECT_EQ(std::vector<double>(v.begin(), v.begin() + 4), (std::vector<double>{1, 3, 3, 3}));
  EXPECT_TRUE(std::isnan(v[4]) && std::isnan(v[5]));
  EXPECT_EQ(at, (std::vector<double>{0, 1, 2, 2, 4, 4}));
  EXPECT_EQ(reals_order(scan(ScanKind::cummin, DType::i8, {3}, {2, 2, 5}, 0), 1), (std::vector<double>{0, 1, 1}));
}

TEST(Scan, ProductsAndLogSums) {
  EXPECT_EQ(reals_order(scan(ScanKind::cumprod, DType::i32, {4}, {1, -2, 3, 4}, 0)),
            (std::vector<double>{1, -2, -6, -24}));
  const auto y = reals_order(scan(ScanKind::logcumsumexp, DType::f64, {3}, {700, 710, 720}, 0));
  EXPECT_NEAR(y[2], 720 + std::log1p(std::exp(-10) + std::exp(-20)), 1e-12);
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(reals_order(scan(ScanKind::logcumsumexp, DType::f64, {2}, {-inf, -inf}, 0))[1], -inf);
}

std::vector<double> search(const std::vector<double>& s, const std::vector<double>& v, bool right) {
  NodeRun run(Op::searchsorted);
  run.set(AttrKey::right, right);
  run.input(DType::f32, {static_cast<std::int64_t>(s.size())}, s);
  run.input(DType::f32, {static_cast<std::int64_t>(v.size())}, v);
  return reals_order(run.run());
}

TEST(SearchSorted, AgreesWithTheStandardLibrary) {
  const std::vector<double> s = {-3, 0, 0, 2, 2, 7}, v = {-4, -3, 0, 1, 2, 7, 8};
  for (bool right : {false, true}) {
    const auto at = search(s, v, right);
    for (std::size_t i = 0; i < v.size(); ++i) {
      const auto expected =
          right ? std::upper_bound(s.begin(), s.end(), v[i]) : std::lower_bound(s.begin(), s.end(), v[i]);
      EXPECT_EQ(at[i], static_cast<double>(expected - s.begin()));
    }
    EXPECT_EQ(search(s, {kOrderNaN}, right), (std::vector<double>{6}));
  }
}

}  // namespace
}  // namespace tern
