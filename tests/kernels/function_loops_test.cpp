// Vector loops of functions, at each level, against long double functions of the C library.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/pointwise/loops.h"
#include "kernels/cpu/pointwise/special.h"

namespace tern::test {
namespace {

using pointwise::LoopTable;
using Exact = long double (*)(long double, long double);

struct FunctionCase {
  Scalar op;
  DType dtype;
  double low, high;  ///< range of half of the arguments; the others have any exponent
  double ulps;       ///< largest error, in units in the last place
  Exact exact;
};

long double widened(double y) {
  return static_cast<long double>(y);
}
double narrowed(long double x) {
  return static_cast<double>(x);
}

#define TERN_EXACT(expression) [](long double x, [[maybe_unused]] long double y) -> long double { return expression; }
constexpr DType kFloat = DType::f32, kDouble = DType::f64;
const FunctionCase kFunctionCases[] = {
    {Scalar::log1p, kFloat, -1, 10, 0.52, TERN_EXACT(std::log1p(x))},
    {Scalar::log2, kFloat, 0, 10, 0.52, TERN_EXACT(std::log2(x))},
    {Scalar::log10, kFloat, 0, 10, 0.52, TERN_EXACT(std::log10(x))},
    {Scalar::atanh, kFloat, -1, 1, 0.52, TERN_EXACT(std::atanh(x))},
    {Scalar::pow, kFloat, -4, 8, 0.52, TERN_EXACT(std::pow(x, y))},
    {Scalar::pow, kFloat, 0.01, 8, 0.52, TERN_EXACT(std::pow(x, y))},
    {Scalar::atan2, kFloat, -4, 4, 0.52, TERN_EXACT(std::atan2(x, y))},
    {Scalar::erfinv, kFloat, -1, 1, 0.6, TERN_EXACT(widened(special::erfinv(narrowed(x))))},
    {Scalar::ndtri, kFloat, 0, 1, 0.6, TERN_EXACT(widened(special::ndtri(narrowed(x))))},
    {Scalar::log_ndtr, kFloat, -6, 6, 0.52, TERN_EXACT(widened(special::log_ndtr(narrowed(x))))},
    {Scalar::lgamma, kFloat, -10, 10, 0.53, TERN_EXACT(std::lgamma(x))},
    {Scalar::digamma, kFloat, -10, 10, 0.52, TERN_EXACT(widened(special::digamma(narrowed(x))))},
    {Scalar::i0, kFloat, -15, 15, 0.52, TERN_EXACT(widened(special::i0(narrowed(x))))},
    {Scalar::i0e, kFloat, -15, 15, 0.52, TERN_EXACT(widened(special::i0e(narrowed(x))))},
    {Scalar::i1, kFloat, -15, 15, 0.52, TERN_EXACT(widened(special::i1(narrowed(x))))},
    {Scalar::i1e, kFloat, -15, 15, 0.52, TERN_EXACT(widened(special::i1e(narrowed(x))))},
    {Scalar::exp, kDouble, -10, 10, 1.1, TERN_EXACT(std::exp(x))},
    {Scalar::exp2, kDouble, -10, 10, 1.1, TERN_EXACT(std::exp2(x))},
    {Scalar::expm1, kDouble, -3, 3, 2, TERN_EXACT(std::expm1(x))},
    {Scalar::log1p, kDouble, -1, 3, 1, TERN_EXACT(std::log1p(x))},
    {Scalar::tanh, kDouble, -3, 3, 2.6, TERN_EXACT(std::tanh(x))},
    {Scalar::sinh, kDouble, -3, 3, 2.6, TERN_EXACT(std::sinh(x))},
    {Scalar::cosh, kDouble, -3, 3, 2, TERN_EXACT(std::cosh(x))},
    {Scalar::atanh, kDouble, -1, 1, 2, TERN_EXACT(std::atanh(x))},
    {Scalar::asinh, kDouble, -3, 3, 2, TERN_EXACT(std::asinh(x))},
    {Scalar::acosh, kDouble, 1, 5, 2.1, TERN_EXACT(std::acosh(x))},
    {Scalar::tan, kDouble, -3, 3, 2.1, TERN_EXACT(std::tan(x))},
    {Scalar::atan2, kDouble, -4, 4, 1.6, TERN_EXACT(std::atan2(x, y))},
    {Scalar::pow, kDouble, -4, 8, 1.2, TERN_EXACT(std::pow(x, y))},
    {Scalar::pow, kDouble, 0.01, 8, 1.2, TERN_EXACT(std::pow(x, y))},
    {Scalar::erf, kDouble, -3, 3, 1.2, TERN_EXACT(std::erf(x))},
    {Scalar::erfc, kDouble, -3, 6, 2.6, TERN_EXACT(std::erfc(x))},
    {Scalar::erfinv, kDouble, -1, 1, 4, TERN_EXACT(widened(special::erfinv(narrowed(x))))},
    {Scalar::ndtri, kDouble, 0, 1, 4, TERN_EXACT(widened(special::ndtri(narrowed(x))))},
};
#undef TERN_EXACT

template <class T>
std::vector<T> arguments(double low, double high, unsigned seed) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> special = {T(0),
                            T(-0.0),
                            T(1),
                            T(-1),
                            T(2),
                            T(-2),
                            T(3),
                            T(-3),
                            T(0.5),
                            T(-0.5),
                            Limits::min(),
                            -Limits::min(),
                            Limits::max(),
                            -Limits::max(),
                            Limits::denorm_min(),
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::quiet_NaN()};
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> range(low, high), exponent(-40, 40);
  std::vector<T> values;
  for (int i = 0; i < 4000; ++i) {
    const double x = range(generator);
    values.push_back(static_cast<T>(i % 2 == 0 ? x : std::copysign(std::exp2(exponent(generator)), low < 0 ? x : 1.0)));
  }
  for (std::size_t i = 0; i < special.size() * special.size(); ++i) {
    values.push_back(seed == 1 ? special[i / special.size()] : special[i % special.size()]);
  }
  return values;
}

template <class T>
void check_function(const FunctionCase& c, const LoopTable& table) {
  const std::vector<T> x = arguments<T>(c.low, c.high, 1), y = arguments<T>(c.low, c.high, 2);
  std::vector<T> result(x.size());
  table.get(c.op, c.dtype)(result.data(), x.data(), y.data(), nullptr, static_cast<std::int64_t>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double exact = c.exact(x[i], y[i]);
    const T rounded = static_cast<T>(exact), found = result[i];
    SCOPED_TRACE(testing::Message() << scalar_info(c.op).name << " of " << x[i] << ", " << y[i] << ": " << found
                                    << " instead of " << rounded);
    if (std::isnan(rounded) || std::isnan(found)) {
      ASSERT_EQ(std::isnan(rounded), std::isnan(found));
    } else if (std::isinf(rounded) || std::isinf(found)) {
      ASSERT_EQ(rounded, found);
    } else {
      const T size = std::abs(rounded);
      const long double unit = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
      ASSERT_LE(std::abs(static_cast<long double>(found) - exact), static_cast<long double>(c.ulps) * unit);
      ASSERT_TRUE(rounded != 0 || std::signbit(rounded) == std::signbit(found));
    }
  }
}

TEST(FunctionLoops, AreNearTheExactValue) {
  for_each_level(pointwise::add_function_loops_levels, [](auto add) {
    LoopTable table;
    add(table);
    if (table.get(Scalar::exp, DType::f64) == nullptr) return;  // the level without fused multiply-adds
    for (const FunctionCase& c : kFunctionCases) {
      c.dtype == kFloat ? check_function<float>(c, table) : check_function<double>(c, table);
    }
  });
}

}  // namespace
}  // namespace tern::test
