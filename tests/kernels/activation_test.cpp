// The loops of activations give the same bits as their expressions.
#include "kernels/cpu/pointwise/activation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "kernels/cpu/pointwise/loops.h"
#include "tests/kernels/pointwise_support.h"

namespace tern::test {
namespace {

using pointwise::LoopTable;
using pointwise::SelfGatedActivation;

constexpr DType f_activation = DType::f32;

PointwiseExpr hardswish(double divisor) {
  Code c;
  const auto x = c.load(0, f_activation);
  const auto sum = c.push(Scalar::add, f_activation, x, c.constant(f_activation, 3));
  const auto low = c.push(Scalar::max, f_activation, sum, c.constant(f_activation, 0));
  const auto high = c.push(Scalar::min, f_activation, low, c.constant(f_activation, 6));
  c.push(Scalar::mul, f_activation, x, c.push(Scalar::mul, f_activation, high, c.constant(f_activation, 1 / divisor)));
  return c.expr;
}
PointwiseExpr silu() {
  Code c;
  const auto x = c.load(0, f_activation);
  const auto e = c.push(Scalar::exp, f_activation, c.push(Scalar::neg, f_activation, x));
  c.push(Scalar::div, f_activation, x, c.push(Scalar::add, f_activation, c.constant(f_activation, 1), e));
  return c.expr;
}

PointwiseExpr gelu() {
  Code c;
  const auto x = c.load(0, f_activation);
  const auto e =
      c.push(Scalar::erf, f_activation, c.push(Scalar::mul, f_activation, x, c.constant(f_activation, std::sqrt(0.5))));
  const auto half = c.push(Scalar::mul, f_activation, c.constant(f_activation, 0.5), x);
  c.push(Scalar::mul, f_activation, half, c.push(Scalar::add, f_activation, c.constant(f_activation, 1), e));
  return c.expr;
}
/// GELU spelled out as in models, with exchanged operands.
PointwiseExpr gelu_tanh() {
  Code c;
  const auto x = c.load(0, f_activation);
  const auto cube = c.push(Scalar::mul, f_activation, c.push(Scalar::mul, f_activation, x, x), x);
  const auto sum =
      c.push(Scalar::add, f_activation, x, c.push(Scalar::mul, f_activation, cube, c.constant(f_activation, 0.044715)));
  const auto t = c.push(Scalar::tanh, f_activation,
                        c.push(Scalar::mul, f_activation, sum, c.constant(f_activation, std::sqrt(2 / std::acos(-1)))));
  const auto half = c.push(Scalar::mul, f_activation, x, c.constant(f_activation, 0.5));
  c.push(Scalar::mul, f_activation, half, c.push(Scalar::add, f_activation, t, c.constant(f_activation, 1)));
  return c.expr;
}

/// The activation of an expression that depends on load 0 alone.
std::optional<SelfGatedActivation> activation_of(const PointwiseExpr& e) {
  const auto end = pointwise::activation_end(e, e.code.size() - 1);
  if (!end || e.code[end->argument].op != Scalar::load || e.code[end->argument].integer != 0) return std::nullopt;
  return end->activation;
}

TEST(Activation, IsFoundAtTheEnd) {
  Code c;
  const auto x = c.push(Scalar::mul, f_activation, c.load(0, f_activation), c.load(1, f_activation));
  const auto e = c.push(Scalar::exp, f_activation, c.push(Scalar::neg, f_activation, x));
  const auto silu_of_x =
      c.push(Scalar::div, f_activation, x, c.push(Scalar::add, f_activation, c.constant(f_activation, 1), e));
  c.push(Scalar::mul, f_activation, silu_of_x, c.load(2, f_activation));
  const auto end = pointwise::activation_end(c.expr, silu_of_x);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->activation, SelfGatedActivation::silu);
  EXPECT_EQ(end->argument, x);
  EXPECT_FALSE(pointwise::activation_end(c.expr, c.expr.code.size() - 1));
}

TEST(Activation, IsFoundInItsExpressionAlone) {
  EXPECT_EQ(activation_of(hardswish(6)), SelfGatedActivation::hardswish);
  EXPECT_EQ(activation_of(silu()), SelfGatedActivation::silu);
  EXPECT_EQ(activation_of(gelu()), SelfGatedActivation::gelu);
  EXPECT_EQ(activation_of(gelu_tanh()), SelfGatedActivation::gelu_tanh);
  EXPECT_EQ(activation_of(hardswish(5)), std::nullopt);
  PointwiseExpr other = silu();
  other.code[0].integer = 1;  // another operand than the op's own result
  EXPECT_EQ(activation_of(other), std::nullopt);
  Code twice;
  twice.expr = silu();
  twice.push(Scalar::add, f_activation, 0, static_cast<std::uint16_t>(twice.expr.code.size() - 1));
  EXPECT_EQ(activation_of(twice.expr), std::nullopt);
}

/// Computes one operation at a time with the loops of a table.
std::vector<float> run_operations(const LoopTable& table, const PointwiseExpr& e, const std::vector<float>& x) {
  std::vector<std::vector<float>> values;
  for (const Instruction& n : e.code) {
    std::vector<float>& to = values.emplace_back(x.size(), static_cast<float>(n.number));
    if (n.op == Scalar::load) {
      to = x;
    } else if (n.op != Scalar::constant) {
      table.get(n.op, f_activation)(to.data(), values[n.a].data(), values[n.b].data(), nullptr,
                                    static_cast<std::int64_t>(x.size()));
    }
  }
  return values.back();
}

TEST(Activation, HasTheBitsOfItsOperations) {
  constexpr std::size_t kCount = 1 << 12;
  const std::pair<SelfGatedActivation, PointwiseExpr> all[] = {{SelfGatedActivation::hardswish, hardswish(6)},
                                                               {SelfGatedActivation::silu, silu()},
                                                               {SelfGatedActivation::gelu, gelu()},
                                                               {SelfGatedActivation::gelu_tanh, gelu_tanh()}};
  std::vector<float> x(kCount);
  for (std::uint32_t from = 0; from < 256; ++from) {
    // Every 4096th float, including the ends of the types' ranges.
    for (std::uint32_t i = 0; i < kCount; ++i) {
      const std::uint32_t bits = (from * kCount + i) * 4096 + (i * 977 + from) % 4096;
      std::memcpy(&x[i], &bits, sizeof bits);
    }
    for (const LoopTable& table : all_tables()) {
      for (const auto& [activation, expression] : all) {
        std::vector<float> got = x;
        table.activations[static_cast<int>(activation)](got.data(), kCount, 1, kCount);
        const std::vector<float> want = run_operations(table, expression, x);
        for (std::size_t i = 0; i < kCount; ++i) {
          if (std::isnan(want[i]) && std::isnan(got[i])) continue;
          ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(want[i])) << x[i];
        }
      }
    }
  }
}

/// The functions in double.
double in_double(SelfGatedActivation activation, double x) {
  switch (activation) {
    case SelfGatedActivation::hardswish: return x * std::clamp(x + 3, 0.0, 6.0) / 6;
    case SelfGatedActivation::silu: return x / (1 + std::exp(-x));
    case SelfGatedActivation::gelu: return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case SelfGatedActivation::gelu_tanh: break;
  }
  return x / (1 + std::exp(-2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

TEST(Activation, CoarseFormsAreWithinAQuarterOfABfloat16Place) {
  constexpr double kQuarter = 0x1p-11, kTiny = 0x1p-27;
  constexpr std::size_t kCount = 1 << 12;
  std::vector<float> x;
  for (std::uint32_t i = 0; i < 1 << 20; i += 7) {
    x.push_back(std::bit_cast<float>(i << 12));
    x.push_back(static_cast<float>(i) * 0x1p-15f - 16);  // even steps where the functions bend
  }
  x.resize(x.size() / kCount * kCount);
  for (const LoopTable& table : all_tables()) {
    for (int k = 0; k < pointwise::kActivations; ++k) {
      const auto activation = static_cast<SelfGatedActivation>(k);
      std::vector<float> got = x;
      table.coarse_activations[k](got.data(), kCount, static_cast<std::int64_t>(x.size() / kCount), kCount);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double want = in_double(activation, x[i]);
        if (!std::isfinite(x[i]) || std::abs(want) > 1e38) continue;
        ASSERT_LE(std::abs(got[i] - want), std::abs(want) * kQuarter + kTiny) << k << " of " << x[i];
      }
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      float extremes[3] = {kInfinity, -kInfinity, std::nanf("")}, exact[3] = {kInfinity, -kInfinity, std::nanf("")};
      table.coarse_activations[k](extremes, 3, 1, 3);
      table.activations[k](exact, 3, 1, 3);
      for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(extremes[i] == exact[i] || (std::isnan(extremes[i]) && std::isnan(exact[i]))) << k << " " << i;
      }
    }
  }
}

TEST(Activation, RowsLieApartAndEndAnywhere) {
  constexpr std::int64_t kApart = 50, kRows = 3;
  const std::vector<double> numbers = random_numbers(kRows * kApart, 17, 5);
  const std::vector<float> x(numbers.begin(), numbers.end());
  for (const LoopTable& table : all_tables()) {
    const std::vector<float> whole = run_operations(table, silu(), x);
    for (std::int64_t columns = 1; columns <= 40; ++columns) {
      std::vector<float> y = x;
      table.activations[static_cast<int>(SelfGatedActivation::silu)](y.data(), kApart, kRows, columns);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const bool in_row = static_cast<std::int64_t>(i) % kApart < columns;
        ASSERT_EQ(y[i], in_row ? whole[i] : x[i]) << i << " of rows of " << columns;
      }
    }
  }
}

}  // namespace
}  // namespace tern::test
