// Reductions across ranks: every reduction in every supported type.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "dtypes/convert.h"
#include "runtime/collective/reduce.h"
#include "schema/reductions.h"

namespace tern {
namespace {

TEST(Reductions, OfEveryTypeAreThoseOfItsValues) {
  // Values representable in all types, with their products and sums.
  const std::vector<double> a = {0, 1, 2, 3, 5, 7}, b = {1, 1, 3, 2, 5, 4};
  const auto n = static_cast<std::int64_t>(a.size());
  struct Op {
    ReduceOp op;
    std::function<double(double, double)> f;
  };
  const auto bits = [](auto f) {
    return [f](double x, double y) { return static_cast<double>(f(static_cast<int>(x), static_cast<int>(y))); };
  };
  const Op ops[] = {{ReduceOp::sum, std::plus<>()},
                    {ReduceOp::avg, [](double x, double y) { return (x + y) / 2; }},
                    {ReduceOp::product, std::multiplies<>()},
                    {ReduceOp::min, [](double x, double y) { return std::min(x, y); }},
                    {ReduceOp::max, [](double x, double y) { return std::max(x, y); }},
                    {ReduceOp::band, bits(std::bit_and<>())},
                    {ReduceOp::bor, bits(std::bit_or<>())},
                    {ReduceOp::bxor, bits(std::bit_xor<>())}};
  int defined = 0;
  for (int t = 1; t < kTensorDTypeCount; ++t) {
    const auto dtype = static_cast<DType>(t);
    for (const Op& op : ops) {
      if (!is_reducible(op.op, dtype)) continue;
      ++defined;
      std::vector<std::byte> x(a.size() * 16), y(a.size() * 16);
      convert(a.data(), DType::f64, x.data(), dtype, n);
      convert(b.data(), DType::f64, y.data(), dtype, n);
      join(op.op, dtype, x.data(), x.data(), y.data(), n);
      finish(op.op, dtype, x.data(), n, 2);
      std::vector<double> result(a.size());
      convert(x.data(), dtype, result.data(), DType::f64, n);
      for (std::size_t i = 0; i < a.size(); ++i) {
        const bool boolean = dtype == DType::boolean;
        const double p = boolean ? a[i] != 0 : a[i], q = boolean ? b[i] != 0 : b[i], want = op.f(p, q);
        EXPECT_EQ(result[i], boolean ? want != 0 : want) << name_of(dtype) << " " << static_cast<int>(op.op);
      }
    }
  }
  EXPECT_EQ(defined, 9 * 7 + 4 * 5);  // bool and eight integers; four floats
}

TEST(Reductions, WrapAroundKeepSignsAndLetNotANumberWin) {
  std::int8_t i = -100;
  const std::int8_t j = -100;
  join(ReduceOp::sum, DType::i8, &i, &i, &j, 1);
  EXPECT_EQ(i, 56);
  std::int64_t least = -1;
  const std::int64_t one = 1;
  join(ReduceOp::min, DType::i64, &least, &least, &one, 1);
  EXPECT_EQ(least, -1);
  std::uint64_t most = ~std::uint64_t{0};
  const std::uint64_t small = 1;
  join(ReduceOp::max, DType::u64, &most, &most, &small, 1);
  EXPECT_EQ(most, ~std::uint64_t{0});
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    const float nan = std::numeric_limits<float>::quiet_NaN(), two = 2;
    float x = nan;
    join(op, DType::f32, &x, &x, &two, 1);
    EXPECT_TRUE(std::isnan(x));
    x = 2;
    join(op, DType::f32, &x, &x, &nan, 1);
    EXPECT_TRUE(std::isnan(x));
  }
}

TEST(Reductions, HalvesAreRoundedAfterEachAddition) {
  // 2048 + 1 is 2048 in float16, twice.
  std::uint16_t sum = 0x6800;
  const std::uint16_t one = 0x3c00;
  join(ReduceOp::sum, DType::f16, &sum, &sum, &one, 1);
  join(ReduceOp::sum, DType::f16, &sum, &sum, &one, 1);
  EXPECT_EQ(sum, 0x6800);
}

}  // namespace
}  // namespace tern
