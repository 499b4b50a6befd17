// Arithmetic, comparisons and bit operations at the edges of each type.
#include <cmath>
#include <limits>

#include "tests/kernels/pointwise_support.h"

namespace tern::test {
namespace {

struct PointwiseArithmeticCase {
  Scalar op;
  double x, y, expected;
};

void check(DType t, const std::vector<PointwiseArithmeticCase>& cases, DType result = DType::invalid) {
  for (const PointwiseArithmeticCase& c : cases) {
    std::vector<std::vector<double>> operands = {{c.x}};
    if (scalar_info(c.op).operands == 2) operands.push_back({c.y});
    const double got = apply(c.op, t, operands, result)[0].real();
    if (std::isnan(c.expected)) {
      EXPECT_TRUE(std::isnan(got)) << scalar_info(c.op).name << "(" << c.x << ", " << c.y << ") = " << got;
    } else {
      EXPECT_EQ(got, c.expected) << scalar_info(c.op).name << "(" << c.x << ", " << c.y << ") of " << name_of(t);
    }
  }
}

constexpr double kMin64 = -9223372036854775808.0;

TEST(PointwiseArithmetic, IntegersWrapAndNeverTrap) {
  check(DType::i64, {{Scalar::add, 5, -7, -2},
                     {Scalar::neg, kMin64, 0, kMin64},
                     {Scalar::abs, kMin64, 0, kMin64},
                     {Scalar::mul, kMin64, -1, kMin64},
                     {Scalar::floordiv, 7, 2, 3},
                     {Scalar::floordiv, -7, 2, -4},
                     {Scalar::floordiv, 7, -2, -4},
                     {Scalar::floordiv, -8, 2, -4},
                     {Scalar::truncdiv, -7, 2, -3},
                     {Scalar::remainder, -7, 2, 1},
                     {Scalar::remainder, 7, -2, -1},
                     {Scalar::fmod, -7, 2, -1},
                     {Scalar::floordiv, 7, 0, 0},
                     {Scalar::remainder, 7, 0, 0},
                     {Scalar::floordiv, kMin64, -1, kMin64},
                     {Scalar::fmod, kMin64, -1, 0},
                     {Scalar::pow, 3, 4, 81},
                     {Scalar::pow, 2, -1, 0},
                     {Scalar::pow, -1, -3, -1},
                     {Scalar::pow, 0, 0, 1},
                     {Scalar::gcd, -12, 18, 6},
                     {Scalar::gcd, 0, 0, 0},
                     {Scalar::lcm, 4, -6, 12},
                     {Scalar::shl, 1, 10, 1024},
                     {Scalar::shl, 1, 64, 0},
                     {Scalar::shl, 1, -1, 0},
                     {Scalar::shr, -8, 1, -4},
                     {Scalar::shr, -8, 100, -1},
                     {Scalar::sign, -5, 0, -1},
                     {Scalar::not_, 5, 0, -6}});
  check(DType::u8, {{Scalar::add, 250, 10, 4},
                    {Scalar::sub, 3, 5, 254},
                    {Scalar::mul, 16, 17, 16},
                    {Scalar::neg, 1, 0, 255},
                    {Scalar::not_, 5, 0, 250}});
  check(DType::i8, {{Scalar::add, 127, 1, -128}, {Scalar::abs, -128, 0, -128}});
  check(DType::u64, {{Scalar::truncdiv, 9223372036854775808.0, 2, 4611686018427387904.0}, {Scalar::abs, 3, 0, 3}});
  check(DType::boolean,
        {{Scalar::add, 1, 1, 1}, {Scalar::mul, 1, 0, 0}, {Scalar::not_, 1, 0, 0}, {Scalar::max, 0, 1, 1}});
}

TEST(PointwiseArithmetic, FloatingQuotients) {
  const double inf = INFINITY;
  for (DType t : {DType::f32, DType::f64}) {
    check(t, {{Scalar::floordiv, -7, 2, -4},
              {Scalar::floordiv, 1, 0, inf},
              {Scalar::floordiv, 0, 0, NAN},
              {Scalar::floordiv, inf, 2, NAN},
              {Scalar::remainder, -7, 3, 2},
              {Scalar::remainder, 7, -3, -2},
              {Scalar::remainder, 5, inf, 5},
              {Scalar::fmod, -7, 3, -1},
              {Scalar::truncdiv, -7, 2, -3},
              {Scalar::round, 2.5, 0, 2},
              {Scalar::round, -3.5, 0, -4},
              {Scalar::trunc, -2.75, 0, -2},
              {Scalar::sign, -0.5, 0, -1},
              {Scalar::copysign, 3, -0.0, -3},
              {Scalar::hypot, 3, 4, 5},
              {Scalar::frexp_mantissa, 12, 0, 0.75}});
  }
  check(DType::f64, {{Scalar::floordiv, 1, 0.1, 9}});  // 1 / 0.1 rounds to 10
  check(DType::f32, {{Scalar::frexp_exponent, 12, 0, 4}, {Scalar::frexp_exponent, 0, 0, 0}}, DType::i64);
}

TEST(PointwiseArithmetic, NaNInMinimaAndMaxima) {
  const double nan = NAN;
  for (DType t : {DType::f32, DType::f64, DType::bf16}) {
    check(t, {{Scalar::min, nan, 1, nan},
              {Scalar::min, 1, nan, nan},
              {Scalar::max, nan, 1, nan},
              {Scalar::max, 1, nan, nan},
              {Scalar::fmin, nan, 1, 1},
              {Scalar::fmin, 1, nan, 1},
              {Scalar::fmax, nan, 1, 1},
              {Scalar::fmax, nan, nan, nan},
              {Scalar::min, 1, 2, 1},
              {Scalar::max, 1, 2, 2}});
  }
}

TEST(PointwiseArithmetic, Predicates) {
  const double inf = INFINITY, nan = NAN;
  for (DType t : {DType::f32, DType::f64, DType::f16}) {
    check(t,
          {{Scalar::eq, nan, nan, 0},
           {Scalar::ne, nan, nan, 1},
           {Scalar::lt, nan, 1, 0},
           {Scalar::le, 1, 1, 1},
           {Scalar::gt, 2, 1, 1},
           {Scalar::ge, 1, 2, 0},
           {Scalar::isnan, nan, 0, 1},
           {Scalar::isinf, -inf, 0, 1},
           {Scalar::isinf, nan, 0, 0},
           {Scalar::signbit, -0.0, 0, 1}},
          DType::boolean);
  }
}

TEST(PointwiseArithmetic, OneRoundingInFmaAndTwoWithoutIt) {
  // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24; a rounded product would give 0.
  NodeRun run(Op::pointwise);
  Code code;
  const double x = 1 + 0x1p-12;
  run.input(DType::f32, {1}, std::vector<double>{x});
  run.input(DType::f32, {1}, std::vector<double>{-(1 + 0x1p-11)});
  const auto a = code.load(0, DType::f32), c = code.load(1, DType::f32);
  const auto fused = code.push(Scalar::fma, DType::f32, a, a, c);
  const auto plain = code.push(Scalar::add, DType::f32, code.push(Scalar::mul, DType::f32, a, a), c);
  code.push(Scalar::complex, DType::c64, fused, plain);
  run.node().expr = code.expr;
  EXPECT_EQ(run.run().output()[0], Number(0x1p-24, 0));
}

TEST(PointwiseArithmetic, OverflowOfFloat8FollowsTheInstruction) {
  for (std::int64_t saturate : {0, 1}) {
    NodeRun run(Op::pointwise);
    Code code;
    run.input(DType::f32, {2}, std::vector<double>{1000, 1});
    code.push(Scalar::convert, DType::f8_e4m3fn, code.load(0, DType::f32));
    code.expr.code.back().integer = saturate;
    run.node().expr = code.expr;
    const auto got = run.run().output();
    if (saturate != 0) {
      EXPECT_EQ(got[0].real(), 448);
    } else {
      EXPECT_TRUE(std::isnan(got[0].real()));
    }
    EXPECT_EQ(got[1].real(), 1);
  }
}

}  // namespace
}  // namespace tern::test
