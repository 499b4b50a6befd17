// Arithmetic that is done in one go, against one operation at a time in plain float.
#include <cmath>
#include <limits>

#include "tests/kernels/pointwise_support.h"

namespace tern::test {
namespace {

float least(float x, float y) {
  return x < y || std::isnan(x) ? x : y;
}
float greatest(float x, float y) {
  return x > y || std::isnan(x) ? x : y;
}

/// Every link, with the chain's value as first and as second operand.
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
  x = least(x, y);
  x = x - y;
  x = greatest(x, y);
  x = std::abs(x);
  x = least(y, x);
  return x / y;
}

TEST(PointwiseChain, GivesWhatItsOperationsGive) {
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
    push_all(c, a, b);
    NodeRun run(Op::pointwise);
    run.input(DType::f32, {n}, x);
    run.input(DType::f32, {n}, y);
    run.node().expr = c.expr;
    const std::vector<Number> got = run.run().output();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float want = compute_all(static_cast<float>(x[i]), static_cast<float>(y[i]));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got[i].real())) << x[i] << " " << y[i];
      } else {
        EXPECT_EQ(got[i].real(), want) << x[i] << " " << y[i];
        EXPECT_EQ(std::signbit(got[i].real()), std::signbit(want)) << x[i] << " " << y[i];
      }
    }
  }
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

}  // namespace
}  // namespace tern::test
