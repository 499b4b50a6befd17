// Gathers, scatters and the ops with sizes of their own, against loops over positions written out in full.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "schema/kinds.h"
#include "tests/kernels/node_run.h"

namespace tern {
namespace {

using test::NodeRun;
using test::Number;
using Sizes = std::vector<std::int64_t>;

std::vector<double> reals(const NodeRun& run, std::size_t i = 0) {
  std::vector<double> r;
  for (Number n : run.output(i)) r.push_back(n.real());
  return r;
}

std::vector<double> counting(std::int64_t n) {
  std::vector<double> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i);
  return v;
}

void unknown_size(NodeRun& run) {
  run.node().set(AttrKey::symbols, Dims{run.program().pool.new_symbol("u", 0, kNoBound)});
}

TEST(Gather, TakesAlongAnyAxisForElementsOfAnySize) {
  for (DType t : {DType::u8, DType::f16, DType::f32, DType::c64, DType::c128, DType::f8_e5m2}) {
    for (DType index : {DType::i64, DType::i32}) {
      NodeRun run(Op::gather);
      run.set(AttrKey::axis, 1);
      run.input(t, {2, 3, 2}, counting(12));
      run.input(index, {2, 2, 1}, std::vector<double>{2, 0, 1, 1});
      EXPECT_EQ(reals(run.run()), (std::vector<double>{4, 0, 8, 8}));
    }
  }
  NodeRun last(Op::gather);
  last.set(AttrKey::axis, -1);
  last.input(DType::f32, {2, 3}, counting(6), {1, 2});
  last.input(DType::i64, {2, 4}, std::vector<double>{0, 2, 2, 1, 1, 0, 0, 2});
  EXPECT_EQ(reals(last.run()), (std::vector<double>{0, 2, 2, 1, 4, 3, 3, 5}));
}

TEST(Gather, RefusesPositionsOutside) {
  for (double bad : {-1.0, 3.0}) {
    NodeRun run(Op::gather);
    run.set(AttrKey::axis, 0);
    run.input(DType::f32, {3}, counting(3));
    run.input(DType::i64, {1}, std::vector<double>{bad});
    EXPECT_THROW(run.run(), Error);
  }
}

TEST(IndexSelect, CopiesSlices) {
  NodeRun run(Op::index_select);
  run.set(AttrKey::axis, 1);
  run.input(DType::f32, {2, 3, 2}, counting(12));
  run.input(DType::i64, {1, 2}, std::vector<double>{2, 0});
  run.run();
  EXPECT_EQ(run.shape(), (Sizes{2, 1, 2, 2}));
  EXPECT_EQ(reals(run), (std::vector<double>{4, 5, 0, 1, 10, 11, 6, 7}));
  NodeRun bad(Op::index_select);
  bad.set(AttrKey::axis, 0);
  bad.input(DType::f32, {3}, counting(3));
  bad.input(DType::i64, {1}, std::vector<double>{-1});
  EXPECT_THROW(bad.run(), Error);
}

TEST(IndexSelect, AFewRowsOfManySlices) {
  constexpr std::int64_t kSlices = 301, kRows = 5;
  const std::vector<double> chosen = {4, 0, 0, 3};
  for (const std::int64_t width : {1, 3}) {
    const std::vector<double> x = counting(kSlices * kRows * width);
    NodeRun run(Op::index_select);
    run.set(AttrKey::axis, 1);
    run.input(DType::f32, {kSlices, kRows, width}, x);
    run.input(DType::i64, {4}, chosen);
    run.run();
    std::vector<double> expected;
    for (std::int64_t slice = 0; slice < kSlices; ++slice) {
      for (const double row : chosen) {
        for (std::int64_t i = 0; i < width; ++i)
          expected.push_back(x[static_cast<std::size_t>((slice * kRows + static_cast<std::int64_t>(row)) * width + i)]);
      }
    }
    EXPECT_EQ(reals(run), expected);
  }
}

TEST(Index, PairsPositionsAndCountsFromTheEnd) {
  NodeRun run(Op::index);
  run.input(DType::i32, {2, 3, 2}, counting(12));
  run.input(DType::i64, {3}, std::vector<double>{0, -1, 1});
  run.input(DType::i64, {3}, std::vector<double>{-3, 2, 0});
  EXPECT_EQ(reals(run.run()), (std::vector<double>{0, 1, 10, 11, 6, 7}));
  NodeRun bad(Op::index);
  bad.input(DType::i32, {2}, counting(2));
  bad.input(DType::i64, {1}, std::vector<double>{-3});
  EXPECT_THROW(bad.run(), Error);
}

/// x[i, :, j] as the lists i[:, None], 0 .. 599 and j[:, None]: lists with strides of zero, and rows longer than a
/// portion.
TEST(Index, ReadsListsThatRepeat) {
  constexpr std::int64_t kMiddle = 600;
  const std::vector<double> i = {1, -1, 0}, j = {-2, 0, 3};
  for (DType type : {DType::i64, DType::i32}) {
    std::vector<double> lists[3], expected;
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::int64_t middle = 0; middle < kMiddle; ++middle) {
        lists[0].push_back(i[row]);
        lists[1].push_back(static_cast<double>(middle));
        lists[2].push_back(j[row]);
        const double first = i[row] < 0 ? i[row] + 2 : i[row], last = j[row] < 0 ? j[row] + 4 : j[row];
        expected.push_back((first * kMiddle + static_cast<double>(middle)) * 4 + last);
      }
    }
    NodeRun run(Op::index);
    run.input(DType::f32, {2, kMiddle, 4}, counting(2 * kMiddle * 4));
    run.input(type, {3, kMiddle}, lists[0], {1, 0});
    run.input(type, {3, kMiddle}, lists[1], {0, 1});
    run.input(type, {3, kMiddle}, lists[2], {1, 0});
    EXPECT_EQ(reals(run.run()), expected);
  }
  for (const std::vector<std::int64_t>& strides : {Sizes{1, 0}, Sizes{2, 1}}) {
    for (double bad : {2.0, -3.0}) {
      NodeRun run(Op::index);
      run.input(DType::f32, {2, 2}, counting(4));
      run.input(DType::i64, {2, 2}, std::vector<double>{0, 0, bad, bad}, strides);
      run.input(DType::i64, {2, 2}, std::vector<double>{0, 1, 0, 1}, {0, 1});
      EXPECT_THROW(run.run(), Error);
    }
  }
}

TEST(IndexPut, BroadcastsValuesAndAccumulates) {
  for (bool accumulate : {false, true}) {
    NodeRun run(Op::index_put);
    run.set(AttrKey::accumulate, accumulate);
    run.input(DType::f32, {3, 2}, counting(6));
    run.input(DType::f32, {2}, std::vector<double>{10, 20});
    run.input(DType::i64, {3}, std::vector<double>{0, 2, 0});
    EXPECT_EQ(reals(run.run()),
              accumulate ? (std::vector<double>{20, 41, 2, 3, 14, 25}) : (std::vector<double>{10, 20, 2, 3, 10, 20}));
  }
  NodeRun last(Op::index_put);
  last.input(DType::i64, {3}, counting(3));
  last.input(DType::i64, {2}, std::vector<double>{7, 8});
  last.input(DType::i64, {2}, std::vector<double>{1, -2});
  EXPECT_EQ(reals(last.run()), (std::vector<double>{0, 8, 2}));  // the last of equal positions wins
}

std::vector<double> scatter(ScatterKind kind, DType t, bool include, const std::vector<double>& src) {
  NodeRun run(Op::scatter);
  run.set(AttrKey::axis, 0);
  run.set(AttrKey::kind, static_cast<std::int64_t>(kind));
  run.set(AttrKey::include_self, include);
  run.input(t, {4}, std::vector<double>{1, 2, 3, 4});
  run.input(DType::i64, {3}, std::vector<double>{0, 0, 2});
  run.input(t, {3}, src);
  return reals(run.run());
}

TEST(Scatter, JoinsAsEachKindSays) {
  using V = std::vector<double>;
  for (DType t : {DType::f32, DType::i16, DType::f16, DType::f64}) {
    const V src = {5, 8, 6};
    EXPECT_EQ(scatter(ScatterKind::set, t, true, src), (V{8, 2, 6, 4}));
    EXPECT_EQ(scatter(ScatterKind::sum, t, true, src), (V{14, 2, 9, 4}));
    EXPECT_EQ(scatter(ScatterKind::sum, t, false, src), (V{13, 2, 6, 4}));
    EXPECT_EQ(scatter(ScatterKind::prod, t, true, src), (V{40, 2, 18, 4}));
    EXPECT_EQ(scatter(ScatterKind::max, t, true, src), (V{8, 2, 6, 4}));
    EXPECT_EQ(scatter(ScatterKind::min, t, true, src), (V{1, 2, 3, 4}));
    EXPECT_EQ(scatter(ScatterKind::min, t, false, src), (V{5, 2, 6, 4}));
  }
  EXPECT_EQ(scatter(ScatterKind::mean, DType::f32, true, {5, 9, 6}), (V{5, 2, 4.5, 4}));
  EXPECT_EQ(scatter(ScatterKind::mean, DType::i64, true, {-5, -4, 6}), (V{-3, 2, 4, 4}));  // towards minus infinity
  EXPECT_TRUE(std::isnan(scatter(ScatterKind::max, DType::f32, true, {std::nan(""), 9, 6})[0]));
}

TEST(NonZero, ListsPositionsInOrder) {
  NodeRun run(Op::nonzero);
  unknown_size(run);
  run.input(DType::f32, {2, 3}, std::vector<double>{0, 1, 0, std::nan(""), 0, -2});
  run.run();
  EXPECT_EQ(run.shape(), (Sizes{3, 2}));
  EXPECT_EQ(reals(run), (std::vector<double>{0, 1, 1, 0, 1, 2}));
}

TEST(MaskedSelect, BroadcastsBothWays) {
  NodeRun run(Op::masked_select);
  unknown_size(run);
  run.input(DType::i32, {3}, counting(3));
  run.input(DType::boolean, {2, 1}, std::vector<double>{0, 1});
  EXPECT_EQ(reals(run.run()), (std::vector<double>{0, 1, 2}));
  NodeRun rows(Op::masked_select);
  unknown_size(rows);
  rows.input(DType::i32, {2, 1}, std::vector<double>{7, 9});
  rows.input(DType::boolean, {3}, std::vector<double>{1, 0, 1});
  EXPECT_EQ(reals(rows.run()), (std::vector<double>{7, 7, 9, 9}));
}

/// Integers from small and large ranges, and floats with NaN: each takes another way to the order.
TEST(Unique, AgreesWithAMap) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> near = {-3, 500, -3, 7, 500, 7, 7}, far = {-9e15, 9e15, 0, 9e15, -9e15, 1},
                            floats = {2.5, -1, 2.5, 1e30, -1};
  for (const auto& [type, values] :
       {std::pair(DType::i64, near), std::pair(DType::i16, near), std::pair(DType::i64, far),
        std::pair(DType::f32, floats), std::pair(DType::f64, floats)}) {
    std::map<double, double> counts;
    for (double v : values) ++counts[v];
    std::vector<double> keys, inverse, numbers;
    for (const auto& [key, count] : counts) {
      keys.push_back(key);
      numbers.push_back(count);
    }
    for (double v : values) inverse.push_back(static_cast<double>(std::ranges::lower_bound(keys, v) - keys.begin()));
    NodeRun run(Op::unique);
    unknown_size(run);
    run.input(type, {static_cast<std::int64_t>(values.size())}, values);
    run.run();
    for (std::size_t i = 0; i < keys.size(); ++i)
      EXPECT_FLOAT_EQ(static_cast<float>(reals(run)[i]), static_cast<float>(keys[i]));
    EXPECT_EQ(reals(run, 1), inverse);
    EXPECT_EQ(reals(run, 2), numbers);
  }
  NodeRun last(Op::unique);
  unknown_size(last);
  last.input(DType::f32, {4}, std::vector<double>{kNaN, 3, 1, 3});
  last.run();
  const std::vector<double> found = reals(last);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0], 1);
  EXPECT_EQ(found[1], 3);
  EXPECT_TRUE(std::isnan(found[2])) << "NaN is largest";
}

TEST(Unique, SortsCountsAndInverts) {
  NodeRun run(Op::unique);
  unknown_size(run);
  run.input(DType::i32, {6}, std::vector<double>{3, 1, 3, 2, 1, 3});
  run.run();
  EXPECT_EQ(reals(run), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(reals(run, 1), (std::vector<double>{2, 0, 2, 1, 0, 2}));
  EXPECT_EQ(reals(run, 2), (std::vector<double>{2, 1, 3}));
  NodeRun runs(Op::unique);
  unknown_size(runs);
  runs.set(AttrKey::consecutive, 1);
  runs.input(DType::i32, {5}, std::vector<double>{3, 3, 1, 1, 3});
  EXPECT_EQ(reals(runs.run()), (std::vector<double>{3, 1, 3}));
  NodeRun columns(Op::unique);
  unknown_size(columns);
  columns.set(AttrKey::axis, 1);
  columns.input(DType::f32, {2, 3}, std::vector<double>{5, 1, 5, 6, 2, 6});
  columns.run();
  EXPECT_EQ(columns.shape(), (Sizes{2, 2}));
  EXPECT_EQ(reals(columns), (std::vector<double>{1, 5, 2, 6}));
  EXPECT_EQ(reals(columns, 1), (std::vector<double>{1, 0, 1}));
}

TEST(BinCount, CountsAndWeighs) {
  NodeRun run(Op::bincount);
  unknown_size(run);
  run.set(AttrKey::length, 6);
  run.input(DType::u8, {4}, std::vector<double>{1, 3, 1, 0});
  EXPECT_EQ(reals(run.run()), (std::vector<double>{1, 2, 0, 1, 0, 0}));
  NodeRun weighed(Op::bincount);
  unknown_size(weighed);
  weighed.set(AttrKey::length, 0);
  weighed.input(DType::i64, {3}, std::vector<double>{1, 3, 1});
  weighed.input(DType::f32, {3}, std::vector<double>{0.5, 2, 0.25});
  EXPECT_EQ(reals(weighed.run()), (std::vector<double>{0, 0.75, 0, 2}));
  NodeRun bad(Op::bincount);
  unknown_size(bad);
  bad.input(DType::i64, {1}, std::vector<double>{-1});
  EXPECT_THROW(bad.run(), Error);
}

TEST(RepeatInterleave, RepeatsSlices) {
  NodeRun run(Op::repeat_interleave);
  unknown_size(run);
  run.set(AttrKey::axis, 1);
  run.input(DType::f32, {2, 3}, counting(6));
  run.input(DType::i64, {3}, std::vector<double>{2, 0, 1});
  run.run();
  EXPECT_EQ(run.shape(), (Sizes{2, 3}));
  EXPECT_EQ(reals(run), (std::vector<double>{0, 0, 2, 3, 3, 5}));
  NodeRun bad(Op::repeat_interleave);
  unknown_size(bad);
  bad.set(AttrKey::axis, 0);
  bad.input(DType::f32, {1}, counting(1));
  bad.input(DType::i64, {1}, std::vector<double>{-2});
  EXPECT_THROW(bad.run(), Error);
}

TEST(EmbeddingBag, SumsMeansAndMaxima) {
  for (BagKind kind : {BagKind::sum, BagKind::mean, BagKind::max}) {
    NodeRun run(Op::embedding_bag);
    run.set(AttrKey::kind, static_cast<std::int64_t>(kind));
    run.set(AttrKey::padding_index, 2);
    run.input(DType::f32, {3, 2}, std::vector<double>{1, -1, 3, -5, 100, 100});
    run.input(DType::i64, {4}, std::vector<double>{0, 2, 1, 1});
    run.input(DType::i64, {3}, std::vector<double>{0, 3, 4});
    run.run();
    const auto y = reals(run);
    if (kind == BagKind::sum) {
      EXPECT_EQ(y, (std::vector<double>{4, -6, 3, -5, 0, 0}));
    } else if (kind == BagKind::mean) {
      EXPECT_EQ(y, (std::vector<double>{2, -3, 3, -5, 0, 0}));
    } else {
      EXPECT_EQ(y, (std::vector<double>{3, -1, 3, -5, 0, 0}));
    }
    EXPECT_EQ(reals(run, 2), (std::vector<double>{2, 1, 0}));
  }
}

TEST(SegmentReduce, EmptySegmentsHaveTheirStart) {
  NodeRun run(Op::segment_reduce);
  run.set(AttrKey::kind, static_cast<std::int64_t>(ScatterKind::mean));
  run.set(AttrKey::axis, 0);
  run.input(DType::f32, {3, 2}, std::vector<double>{1, 2, 3, 4, 5, 9});
  run.input(DType::i64, {4}, std::vector<double>{0, 2, 2, 3});
  const auto y = reals(run.run());
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[1], 3);
  EXPECT_TRUE(std::isnan(y[2]) && std::isnan(y[3]));
  EXPECT_EQ(y[5], 9);
  NodeRun bad(Op::segment_reduce);
  bad.set(AttrKey::kind, static_cast<std::int64_t>(ScatterKind::sum));
  bad.set(AttrKey::axis, 0);
  bad.input(DType::f32, {3}, counting(3));
  bad.input(DType::i64, {2}, std::vector<double>{0, 4});
  EXPECT_THROW(bad.run(), Error);
}

TEST(Histogram, CountsWithTheLastEdgeInside) {
  NodeRun run(Op::histogram);
  run.set(AttrKey::bins, 4);
  run.set_number(AttrKey::range, {0, 4});
  run.input(DType::f32, {8}, std::vector<double>{0, 0.5, 1, 3.9, 4, 4.1, -1, std::nan("")});
  run.run();
  EXPECT_EQ(reals(run), (std::vector<double>{2, 1, 0, 2}));
  EXPECT_EQ(reals(run, 1), (std::vector<double>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace tern
