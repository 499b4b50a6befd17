// The functions of text/*_math.inc as the CPU's reproducible loops: close to long double, and equal bits for every
// instruction set of this processor.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/pointwise/loops.h"

namespace tern::pointwise {
namespace {

using LongReal = long double;

struct Function {
  Scalar op;
  LongReal (*exact)(LongReal);
  double low, high;
};
constexpr Function kFunctions[] = {
    {Scalar::exp, std::exp, -90, 88},   {Scalar::exp, std::exp, -1, 1},         {Scalar::exp2, std::exp2, -120, 120},
    {Scalar::expm1, std::expm1, -2, 2}, {Scalar::expm1, std::expm1, -50, 80},   {Scalar::log, std::log, 0, 3},
    {Scalar::log, std::log, 0.9, 1.1},  {Scalar::log2, std::log2, 0, 3},        {Scalar::log10, std::log10, 0, 1e5},
    {Scalar::log1p, std::log1p, -1, 1}, {Scalar::log1p, std::log1p, 0, 1e9},    {Scalar::sin, std::sin, -10, 10},
    {Scalar::sin, std::sin, -1e5, 1e5}, {Scalar::cos, std::cos, -10, 10},       {Scalar::cos, std::cos, 1e6, 1e15},
    {Scalar::tan, std::tan, -10, 10},   {Scalar::asin, std::asin, -1, 1},       {Scalar::acos, std::acos, -1, 1},
    {Scalar::atan, std::atan, -4, 4},   {Scalar::sinh, std::sinh, -3, 3},       {Scalar::sinh, std::sinh, -80, 80},
    {Scalar::cosh, std::cosh, -80, 80}, {Scalar::tanh, std::tanh, -12, 12},     {Scalar::asinh, std::asinh, -9, 9},
    {Scalar::acosh, std::acosh, 1, 9},  {Scalar::atanh, std::atanh, -1, 1},     {Scalar::erf, std::erf, -4, 4},
    {Scalar::erfc, std::erfc, -4, 9},   {Scalar::lgamma, std::lgamma, 2.1, 40},
};
struct Function2 {
  Scalar op;
  LongReal (*exact)(LongReal, LongReal);
  double low, high;
};
constexpr Function2 kFunctions2[] = {
    {Scalar::pow, std::pow, 0, 9},
    {Scalar::atan2, std::atan2, -3, 3},
    {Scalar::hypot, std::hypot, -1e18, 1e18},
};

template <class T>
std::vector<T> uniform_values(double low, double high, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> number(low, high);
  std::vector<T> v(5000);
  for (T& x : v) x = static_cast<T>(number(random));
  return v;
}

/// Error in units of the exact value's last place.
template <class T>
double error(T actual, LongReal exact) {
  const T rounded = std::abs(static_cast<T>(exact));
  if (std::isinf(rounded) || std::isinf(actual)) return actual == static_cast<T>(exact) ? 0 : 1e9;
  const LongReal unit = std::nextafter(rounded, std::numeric_limits<T>::infinity()) - rounded;
  return static_cast<double>(std::abs(static_cast<LongReal>(actual) - exact) / unit);
}

template <class T>
void expect_close(DType t) {
  const LoopTable& table = reproducible_loop_table();
  for (const Function& f : kFunctions) {
    const std::vector<T> x = uniform_values<T>(f.low, f.high, 1);
    std::vector<T> y(x.size());
    table.get(f.op, t)(y.data(), x.data(), nullptr, nullptr, static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(error(y[i], f.exact(static_cast<LongReal>(x[i]))), 3) << scalar_info(f.op).name << " of " << x[i];
  }
  for (const Function2& f : kFunctions2) {
    const std::vector<T> a = uniform_values<T>(f.low, f.high, 2), b = uniform_values<T>(f.low, f.high, 3);
    std::vector<T> y(a.size());
    table.get(f.op, t)(y.data(), a.data(), b.data(), nullptr, static_cast<std::int64_t>(a.size()));
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_LE(error(y[i], f.exact(static_cast<LongReal>(a[i]), static_cast<LongReal>(b[i]))), 3)
          << scalar_info(f.op).name << " of " << a[i] << ", " << b[i];
  }
}

TEST(MathText, FunctionsOfFloat) {
  expect_close<float>(DType::f32);
}
TEST(MathText, FunctionsOfDouble) {
  expect_close<double>(DType::f64);
}

// The C library's are right at all of these.
TEST(MathText, EndsAndSpecialValues) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {0.0,  -0.0,  1,    -1,    0.5,    -0.5,    2,      -3,  7,    710, -746,
                                      1e18, 1e300, kInf, -kInf, 5e-324, -5e-324, 1e-310, NAN, 1e22, -28, 0.25};
  const LoopTable& table = reproducible_loop_table();
  const auto same = [](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (b == 0 || std::isinf(b)) return a == b && std::signbit(a) == std::signbit(b);
    return std::abs(a - b) <= 1e-15 * std::abs(b);
  };
  for (const Function& f : kFunctions) {
    for (const double x : values) {
      if (f.op == Scalar::lgamma && x < 0) continue;
      double y = 0;
      table.get(f.op, DType::f64)(&y, &x, nullptr, nullptr, 1);
      EXPECT_TRUE(same(y, static_cast<double>(f.exact(x)))) << scalar_info(f.op).name << " of " << x << ": " << y;
    }
  }
  for (const Function2& f : kFunctions2) {
    for (const double a : values) {
      for (const double b : values) {
        double y = 0;
        table.get(f.op, DType::f64)(&y, &a, &b, nullptr, 1);
        EXPECT_TRUE(same(y, static_cast<double>(f.exact(a, b))))
            << scalar_info(f.op).name << " of " << a << ", " << b << ": " << y;
      }
    }
  }
}

TEST(MathText, SameBitsForEveryInstructionSet) {
  std::vector<LoopTable> tables;
  for_each_level(add_plain_loops_levels, [&](auto add) { add(tables.emplace_back()); });
  add_plain_loops_fused(tables[0]);
  std::size_t level = 0;
  for_each_level(add_text_loops_levels, [&](auto add) {
    for (std::size_t above = level; above < tables.size(); ++above) add(tables[above]);
    ++level;
  });
  const auto expect_same = [&]<class T>(DType t, const std::vector<T>& a, const std::vector<T>& b) {
    for (int op = 1; op < kLoopScalars; ++op) {
      const auto scalar = static_cast<Scalar>(op);
      const Loop first = tables[0].get(scalar, t);
      const int operands = scalar_info(scalar).operands;
      const bool floats = scalar_info(scalar).domain == 'f' || scalar_info(scalar).domain == 'c';
      if (first == nullptr || !floats || operands > 2 || (scalar >= Scalar::isnan && scalar <= Scalar::signbit))
        continue;
      std::vector<T> expected(a.size());
      first(expected.data(), a.data(), b.data(), nullptr, static_cast<std::int64_t>(a.size()));
      for (std::size_t k = 1; k < tables.size(); ++k) {
        std::vector<T> y(a.size());
        tables[k].get(scalar, t)(y.data(), a.data(), b.data(), nullptr, static_cast<std::int64_t>(a.size()));
        for (std::size_t i = 0; i < y.size(); ++i) {
          if (std::isnan(y[i]) && std::isnan(expected[i])) continue;
          ASSERT_EQ(y[i], expected[i]) << scalar_info(scalar).name << " of " << a[i] << ", " << b[i];
        }
      }
    }
  };
  expect_same(DType::f32, uniform_values<float>(-9, 9, 5), uniform_values<float>(0, 9, 6));
  expect_same(DType::f64, uniform_values<double>(-9, 9, 5), uniform_values<double>(0, 9, 6));
}

}  // namespace
}  // namespace tern::pointwise
