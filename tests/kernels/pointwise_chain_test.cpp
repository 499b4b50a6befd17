// Fused chains of arithmetic, against one operation at a time in plain float.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "kernels/cpu/pointwise/loops.h"
#include "kernels/cpu/simd/stream.h"
#include "tests/kernels/pointwise_support.h"

namespace tern::test {
namespace {

float minimum(float x, float y) {
  return x < y || std::isnan(x) ? x : y;
}
float greatest(float x, float y) {
  return x > y || std::isnan(x) ? x : y;
}

/// Every link of one or two operands, with the chain's value as first and as second operand.
std::uint16_t push_all(Code& c, std::uint16_t x, std::uint16_t y) {
  const DType f = DType::f32;
  x = c.push(Scalar::add, f, x, y);
  x = c.push(Scalar::sub, f, y, x);
  x = c.push(Scalar::mul, f, x, y);
  x = c.push(Scalar::max, f, y, x);
  x = c.push(Scalar::neg, f, x);
  x = c.push(Scalar::div, f, y, x);
  x = c.push(Scalar::min, f, x, y);
  x = c.push(Scalar::sub, f, x, y);
  x = c.push(Scalar::max, f, x, y);
  x = c.push(Scalar::abs, f, x);
  x = c.push(Scalar::min, f, y, x);
  return c.push(Scalar::div, f, x, y);
}
float compute_all(float x, float y) {
  x = x + y;
  x = y - x;
  x = x * y;
  x = greatest(y, x);
  x = -x;
  x = y / x;
  x = minimum(x, y);
  x = x - y;
  x = greatest(x, y);
  x = std::abs(x);
  x = minimum(y, x);
  return x / y;
}

/// Compares expressions of two operands with a function of a single element: all pairs of special numbers, in runs of
/// all lengths.
void expect_same(const std::function<void(Code&, std::uint16_t, std::uint16_t)>& push,
                 const std::function<float(float, float)>& compute) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float special[] = {0.0F, -0.0F, 1.0F, -2.5F, inf, -inf, nan, 3e38F, -1e-40F};
  for (const std::int64_t n : {1, 7, 16, 31, 128, 200, 1999}) {
    std::vector<double> x, y;
    for (std::int64_t i = 0; i < n; ++i) {
      x.push_back(special[i % 9]);
      y.push_back(special[i / 9 % 9]);
    }
    Code c;
    const auto a = c.load(0, DType::f32), b = c.load(1, DType::f32);
    push(c, a, b);
    NodeRun run(Op::pointwise);
    run.input(DType::f32, {n}, x);
    run.input(DType::f32, {n}, y);
    run.node().expr = c.expr;
    const std::vector<Number> got = run.run().output();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float want = compute(static_cast<float>(x[i]), static_cast<float>(y[i]));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got[i].real())) << x[i] << " " << y[i];
      } else {
        EXPECT_EQ(got[i].real(), want) << x[i] << " " << y[i];
        EXPECT_EQ(std::signbit(got[i].real()), std::signbit(want)) << x[i] << " " << y[i];
      }
    }
  }
}

TEST(PointwiseChain, GivesWhatItsOperationsGive) {
  expect_same([](Code& c, std::uint16_t x, std::uint16_t y) { push_all(c, x, y); }, compute_all);
}

/// The chain from the row's element stores its result in a buffer, which must not be the element's.
TEST(PointwiseChain, KeepsTheElementOfARow) {
  const DType f = DType::f32;
  for (const std::int64_t columns : {128, 160, 1000}) {
    constexpr std::int64_t kRows = 3;
    std::vector<double> x, m;
    for (std::int64_t i = 0; i < kRows * columns; ++i) x.push_back(static_cast<double>(0.25F * (i % 37) - 4));
    for (std::int64_t i = 0; i < kRows; ++i) m.push_back(static_cast<double>(i + 1));
    Code c;
    const auto a = c.load(0, f), b = c.load(1, f);
    const auto scale = c.push(Scalar::div, f, c.push(Scalar::max, f, b, c.constant(f, 0.5)), c.constant(f, 4));
    const auto quotient = c.push(Scalar::div, f, a, scale);
    const auto limited = c.push(Scalar::min, f, c.push(Scalar::max, f, quotient, c.constant(f, -5)), c.constant(f, 5));
    c.push(Scalar::convert, DType::bf16, limited);
    NodeRun run(Op::pointwise);
    run.input(f, {kRows, columns}, x);
    run.input(f, {kRows, 1}, m);
    run.node().expr = c.expr;
    const std::vector<Number> got = run.run().output();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = std::clamp(x[i] / (m[i / static_cast<std::size_t>(columns)] / 4), -5.0, 5.0);
      EXPECT_NEAR(got[i].real(), want, std::abs(want) / 128) << i;
    }
  }
}

TEST(PointwiseChain, Fma) {
  const DType f = DType::f32;
  expect_same(
      [&](Code& c, std::uint16_t x, std::uint16_t y) {
        const auto first = c.push(Scalar::fma, f, c.push(Scalar::neg, f, x), y, x);
        const auto second = c.push(Scalar::fma, f, y, first, x);
        c.push(Scalar::fma, f, x, y, c.push(Scalar::abs, f, second));
      },
      [](float x, float y) { return std::fma(x, y, std::abs(std::fma(y, std::fma(-x, y, x), x))); });
}

/// Expects two units in the last place of the function in double at most, for any length of the run.
TEST(PointwiseChain, Functions) {
  const DType f = DType::f32;
  const std::pair<Scalar, double (*)(double)> functions[] = {
      {Scalar::exp, [](double x) { return std::exp(x); }},
      {Scalar::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {Scalar::tanh, [](double x) { return std::tanh(x); }},
      {Scalar::erf, [](double x) { return std::erf(x); }}};
  for (const auto& [op, function] : functions) {
    for (const std::int64_t n : {1, 15, 128, 333}) {
      std::vector<double> x;
      for (std::int64_t i = 0; i < n; ++i) x.push_back(static_cast<double>(static_cast<float>(0.037 * i - 4)));
      Code c;
      c.push(Scalar::neg, f, c.push(op, f, c.push(Scalar::neg, f, c.load(0, f))));
      NodeRun run(Op::pointwise);
      run.input(f, {n}, x);
      run.node().expr = c.expr;
      const std::vector<Number> got = run.run().output();
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double want = -function(-x[i]);
        EXPECT_NEAR(got[i].real(), want, std::abs(want) * std::ldexp(1.0, -22)) << x[i];
      }
    }
  }
}

TEST(PointwiseChain, Choices) {
  const DType f = DType::f32;
  const std::pair<Scalar, bool (*)(float, float)> comparisons[] = {
      {Scalar::eq, [](float x, float y) { return x == y; }}, {Scalar::ne, [](float x, float y) { return x != y; }},
      {Scalar::lt, [](float x, float y) { return x < y; }},  {Scalar::le, [](float x, float y) { return x <= y; }},
      {Scalar::gt, [](float x, float y) { return x > y; }},  {Scalar::ge, [](float x, float y) { return x >= y; }}};
  for (const auto& [op, holds] : comparisons) {
    for (const bool first : {true, false}) {
      expect_same(
          [&, op = op](Code& c, std::uint16_t x, std::uint16_t y) {
            const auto less = c.push(Scalar::neg, f, c.push(Scalar::abs, f, y));
            const auto where = c.push(op, DType::boolean, x, y);
            const auto chosen = c.push(Scalar::where, f, where, first ? less : x, first ? x : less);
            c.push(Scalar::mul, f, chosen, y);
          },
          [&, holds = holds](float x, float y) { return (holds(x, y) == first ? -std::abs(y) : x) * y; });
      // Comparisons alone, of the chain's own value, and of constants.
      expect_same(
          [&, op = op](Code& c, std::uint16_t x, std::uint16_t y) {
            const auto sum = c.push(Scalar::add, f, x, y), one = c.constant(f, 1), two = c.constant(f, 2);
            const auto where = c.push(op, DType::boolean, sum, one);
            c.push(Scalar::where, f, where, first ? sum : two, first ? two : sum);
          },
          [&, holds = holds](float x, float y) { return holds(x + y, 1) == first ? x + y : 2; });
    }
  }
}

TEST(PointwiseChain, ComparisonsThatOthersReadAreKept) {
  Code c;
  const auto x = c.load(0, DType::f32), zero = c.constant(DType::f32, 0), one = c.constant(DType::f32, 1);
  const auto positive = c.push(Scalar::gt, DType::boolean, x, zero);
  const auto y = c.push(Scalar::where, DType::f32, positive, c.push(Scalar::mul, DType::f32, x, x), one);
  c.push(Scalar::where, DType::f32, positive, y, c.push(Scalar::sub, DType::f32, y, x));
  NodeRun run(Op::pointwise);
  run.input(DType::f32, {2}, std::vector<double>{3, -4});
  run.node().expr = c.expr;
  EXPECT_EQ(run.run().output(), (std::vector<Number>{9, 5}));
}

TEST(PointwiseChain, MagnitudesOfComplexNumbersStartOne) {
  Code c;
  const auto x = c.push(Scalar::abs, DType::f32, c.load(0, DType::c64)), one = c.constant(DType::f32, 1);
  c.push(Scalar::mul, DType::f32, c.push(Scalar::add, DType::f32, x, one), one);
  NodeRun run(Op::pointwise);
  run.input(DType::c64, {2}, std::vector<Number>{{3, 4}, {-6, 8}});
  run.node().expr = c.expr;
  EXPECT_EQ(run.run().output(), (std::vector<Number>{6, 11}));
}

TEST(PointwiseChain, ValuesThatOthersReadAreKept) {
  Code c;
  const auto x = c.load(0, DType::f32), two = c.constant(DType::f32, 2);
  const auto shared = c.push(Scalar::add, DType::f32, c.push(Scalar::mul, DType::f32, x, two), x);
  const auto more = c.push(Scalar::sub, DType::f32, c.push(Scalar::mul, DType::f32, shared, shared), x);
  c.push(Scalar::add, DType::f32, c.push(Scalar::neg, DType::f32, more), shared);
  NodeRun run(Op::pointwise);
  const std::vector<double> values = random_numbers(300, 5, 9);
  run.input(DType::f32, {300}, values);
  run.node().expr = c.expr;
  const std::vector<Number> got = run.run().output();
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(got[i].real(), -(9 * values[i] * values[i] - values[i]) + 3 * values[i]);
}

TEST(PointwiseChain, AnotherLoopMayReadAValueBetween) {
  // The square root needs the sum before the end of the sum's chain.
  Code c;
  const DType f = DType::f32;
  const auto x = c.load(0, f), y = c.load(1, f);
  const auto sum = c.push(Scalar::add, f, c.push(Scalar::mul, f, x, x), c.push(Scalar::mul, f, y, y));
  const auto root = c.push(Scalar::sqrt, f, sum);
  const auto less = c.push(Scalar::sub, f, sum, root);
  const auto again = c.push(Scalar::sqrt, f, less);
  c.push(Scalar::add, f, c.push(Scalar::mul, f, less, again), sum);
  NodeRun run(Op::pointwise);
  run.input(f, {2}, std::vector<double>{3, 12});
  run.input(f, {2}, std::vector<double>{4, 5});
  run.node().expr = c.expr;
  const std::vector<Number> got = run.run().output();
  EXPECT_NEAR(got[0].real(), 20 * std::sqrt(20.0) + 25, 1e-5);
  EXPECT_NEAR(got[1].real(), 156 * std::sqrt(156.0) + 169, 1e-3);
}

TEST(PointwiseChain, EveryLinkInEveryInstructionSet) {
  using namespace pointwise;
  constexpr std::size_t kCount = 300;
  const std::vector<double> numbers = random_numbers(3 * kCount, 11, 3);
  alignas(64) float x[kCount], y[kCount], z[kCount], first[kCount], got[kCount];
  for (std::size_t i = 0; i < kCount; ++i) {
    x[i] = i % 7 == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(numbers[i]);
    y[i] = i % 5 == 0 ? 0.0F : static_cast<float>(numbers[kCount + i]);
    z[i] = i % 3 == 0 ? x[i] : i % 11 == 0 ? std::numeric_limits<float>::quiet_NaN() : y[i];
  }
  for (int op = 0; op <= static_cast<int>(ChainOp::where_le_of); ++op) {
    const ChainLink link{static_cast<ChainOp>(op), {y, 1}, {z, 1}, {x, 1}, nullptr};
    bool baseline = true;
    for (const LoopTable& table : all_tables()) {
      float* to = baseline ? first : got;
      table.chain(to, {x, 1}, &link, 1, kCount, false);
      for (std::size_t i = 0; i < kCount; ++i) {
        if (!std::isnan(first[i])) {
          EXPECT_EQ(to[i], first[i]) << op << " of " << x[i] << " " << y[i];
        } else {
          EXPECT_TRUE(std::isnan(to[i])) << op << " of " << x[i] << " " << y[i];
        }
      }
      baseline = false;
    }
  }
}

TEST(PointwiseChain, FunctionsHaveTheBitsOfTheirLoops) {
  using namespace pointwise;
  constexpr std::size_t kCount = 1 << 12;
  const std::pair<ChainOp, Scalar> functions[] = {{ChainOp::exp, Scalar::exp},
                                                  {ChainOp::sigmoid, Scalar::sigmoid},
                                                  {ChainOp::tanh, Scalar::tanh},
                                                  {ChainOp::erf, Scalar::erf}};
  std::vector<float> x(kCount), got(kCount), want(kCount);
  for (std::uint32_t from = 0; from < 512; ++from) {
    // Every 2048th float, including the ends of the types' ranges.
    for (std::uint32_t i = 0; i < kCount; ++i) {
      const std::uint32_t bits = (from * kCount + i) * 2048 + (i * 977 + from) % 2048;
      std::memcpy(&x[i], &bits, sizeof bits);
    }
    for (const LoopTable& table : all_tables()) {
      for (const auto& [op, scalar] : functions) {
        const ChainLink link{op, {}, {}, {}, nullptr};
        table.chain(got.data(), {x.data(), 1}, &link, 1, kCount, false);
        table.get(scalar, DType::f32)(want.data(), x.data(), nullptr, nullptr, kCount);
        for (std::size_t i = 0; i < kCount; ++i) {
          if (std::isnan(want[i]) && std::isnan(got[i])) continue;
          ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(want[i]))
              << static_cast<int>(op) << " of " << x[i];
        }
      }
    }
  }
}

TEST(PointwiseChain, RowsThatLieApart) {
  using namespace pointwise;
  constexpr std::int64_t kApart = 100, kOtherApart = 70;
  const std::vector<double> numbers = random_numbers(20 * kApart, 17, 9);
  std::vector<float> own(numbers.begin(), numbers.end()), other(numbers.rbegin(), numbers.rend());
  const float two[16] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
  for (const LoopTable& table : all_tables()) {
    for (const std::int64_t columns : {16, 32, 48}) {
      for (const std::int64_t rows : {1, 3, 4, 13}) {
        std::vector<float> y = own, dense(other.begin(), other.begin() + rows * columns),
                           kept(static_cast<std::size_t>(rows * columns));
        // y = |y * other - 2| + dense
        const ChainLink links[] = {{ChainOp::mul, {other.data(), 1, kOtherApart}, {}, {}, kept.data()},
                                   {ChainOp::sub, {two, 0, 0}, {}, {}, nullptr},
                                   {ChainOp::abs, {}, {}, {}, nullptr},
                                   {ChainOp::add, {dense.data(), 1, columns}, {}, {}, nullptr}};
        table.chain_rows(y.data(), kApart, {y.data(), 1, kApart}, links, 4, rows, columns);
        for (std::int64_t i = 0; i < 20 * kApart; ++i) {
          const std::int64_t r = i / kApart, c = i % kApart;
          float want = own[static_cast<std::size_t>(i)];
          if (r < rows && c < columns) {
            const float product = want * other[static_cast<std::size_t>(r * kOtherApart + c)];
            want = std::abs(product - 2) + dense[static_cast<std::size_t>(r * columns + c)];
            ASSERT_EQ(kept[static_cast<std::size_t>(r * columns + c)], product);
          }
          ASSERT_EQ(y[static_cast<std::size_t>(i)], want) << r << " " << c << " of " << rows << " by " << columns;
        }
      }
    }
  }
}

TEST(PointwiseChain, PastTheCachesTheSameIsStored) {
  constexpr std::size_t kCount = 1000;
  alignas(64) float x[kCount], stored[kCount], streamed[kCount], kept[kCount];
  for (std::size_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i) - 300;
  float two[16];
  std::fill_n(two, 16, 2.0F);
  using namespace pointwise;
  const ChainLink links[] = {{ChainOp::mul, {two, 0}, {}, {}, kept}, {ChainOp::add, {kept, 1}, {}, {}, nullptr}};
  for (const LoopTable& table : all_tables()) {
    for (const std::int64_t n : {3, 64, 1000}) {
      std::fill_n(stored, kCount, -1.0F);
      std::fill_n(streamed, kCount, -1.0F);
      table.chain(stored, {x, 1}, links, 2, n, false);
      table.chain(streamed, {x, 1}, links, 2, n, true);
      end_stream();
      for (std::size_t i = 0; i < kCount; ++i) {
        EXPECT_EQ(stored[i], i < static_cast<std::size_t>(n) ? 4 * x[i] : -1) << i;
        EXPECT_EQ(streamed[i], stored[i]) << i;
      }
    }
  }
}

}  // namespace
}  // namespace tern::test
