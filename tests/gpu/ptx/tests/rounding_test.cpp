// Intrinsics with a rounding mode. The expected values come from the nearest value and the sign of its exact error, not
// from the host's rounding modes, used by the emulator.
#include <cmath>
#include <limits>

#include "tests/gpu/ptx/tests/expressions.h"

namespace tern::emulated {
namespace {

enum class Mode { kNearest, kZero, kUp, kDown };

struct Sum {
  double value, error;  // the exact value is the sum of both
};

// "TwoSum" of Knuth: exact where nothing overflows, and no sum of floats does as a double.
Sum exact_sum(double a, double b) {
  const volatile double sum = a + b, part = sum - a, left = sum - part;
  return {sum, (a - left) + (b - part)};
}

// sign: of the exact value minus `nearest`, one of the two adjacent floats.
float rounded(float nearest, int sign, Mode mode) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (sign == 0 || mode == Mode::kNearest) return nearest;
  const bool negative = nearest < 0 || (nearest == 0 && sign < 0);
  const bool up = mode == Mode::kUp || (mode == Mode::kZero && negative);
  if (up && sign > 0) return std::nextafter(nearest, kInfinity);
  if (!up && sign < 0) return std::nextafter(nearest, -kInfinity);
  return nearest;
}

int sign_of(double x) {
  return (x > 0) - (x < 0);
}

bool all_finite(float a, float b, float c = 0) {
  return std::isfinite(a) && std::isfinite(b) && std::isfinite(c);
}

float to_float(const Sum& sum, Mode mode) {
  const float nearest = static_cast<float>(sum.value);
  const int sign = sign_of(sum.value - static_cast<double>(nearest));
  if (sum.value == 0 && sum.error == 0) return mode == Mode::kDown ? -0.0f : 0.0f;
  return rounded(nearest, sign != 0 ? sign : sign_of(sum.error), mode);
}

// An exact zero from terms of opposite signs is -0 only when rounding down; zeros of equal signs keep their sign.
float add(float a, float b, Mode mode) {
  if (!all_finite(a, b)) return a + b;
  if (a == 0 && b == 0 && std::signbit(a) == std::signbit(b)) return a;
  return to_float(exact_sum(static_cast<double>(a), static_cast<double>(b)), mode);
}

float multiply(float a, float b, Mode mode) {
  if (!all_finite(a, b) || a == 0 || b == 0) return a * b;
  const double exact = static_cast<double>(a) * static_cast<double>(b);
  const float value = to_float({exact, 0}, mode);
  return value == 0 ? std::copysign(value, static_cast<float>(exact)) : value;
}

float multiply_add(float a, float b, float c, Mode mode) {
  if (mode == Mode::kNearest) return std::fma(a, b, c);  // a sum rounded to double must not be rounded again
  const double product = static_cast<double>(a) * static_cast<double>(b);
  if (!all_finite(a, b, c)) return static_cast<float>(product + static_cast<double>(c));
  if (product == 0 && c == 0 && std::signbit(product) == std::signbit(c)) return c;
  // The terms may be 2^-298 and 2^127: the error of their sum is still exact.
  return to_float(exact_sum(product, static_cast<double>(c)), mode);
}

float divide(float a, float b, Mode mode) {
  const float nearest = a / b;
  if (!all_finite(a, b) || b == 0 || a == 0) return nearest;
  // An infinite quotient is more than a finite dividend asks for.
  const double back = static_cast<double>(nearest) * static_cast<double>(b);  // exact
  const int sign = sign_of(static_cast<double>(a) - back) * (b < 0 ? -1 : 1);
  const float value = rounded(nearest, sign, mode);
  return value == 0 ? std::copysign(value, std::signbit(a) == std::signbit(b) ? 1.0f : -1.0f) : value;
}

float root(float a, Mode mode) {
  const float nearest = std::sqrt(a);
  if (!(a > 0) || std::isinf(a)) return nearest;
  return rounded(nearest, sign_of(static_cast<double>(a) - static_cast<double>(nearest) * static_cast<double>(nearest)),
                 mode);
}

constexpr struct {
  const char* suffix;
  Mode mode;
} kModes[] = {{"_rn", Mode::kNearest}, {"_rz", Mode::kZero}, {"_ru", Mode::kUp}, {"_rd", Mode::kDown}};

TEST(Rounding, FloatsInAllModes) {
  std::vector<std::string> texts;
  std::vector<Expression<float>> all;
  texts.reserve(64);
  const auto cuda = [&](const std::string& name, const char* suffix, const char* arguments) {
    return texts.emplace_back(name + suffix + arguments).c_str();
  };
  for (const auto& [suffix, mode] : kModes) {
    all.push_back({cuda("__fadd", suffix, "(a, b)"), [m = mode](float a, float b, float) { return add(a, b, m); }});
    // Terms near each other, for ties and small differences.
    all.push_back({cuda("__fadd", suffix, "(a, a * 0.0001f)"), [m = mode](float a, float, float) {
                     const volatile float near = a * 0.0001f;
                     return add(a, near, m);
                   }});
    all.push_back({cuda("__fsub", suffix, "(a, b)"), [m = mode](float a, float b, float) { return add(a, -b, m); }});
    all.push_back(
        {cuda("__fmul", suffix, "(a, b)"), [m = mode](float a, float b, float) { return multiply(a, b, m); }});
    all.push_back({cuda("__fmaf", suffix, "(a, b, c)"),
                   [m = mode](float a, float b, float c) { return multiply_add(a, b, c, m); }});
    all.push_back({cuda("__fmaf", suffix, "(a, b, -a * b)"), [m = mode](float a, float b, float) {
                     const volatile float product = -a * b;
                     return multiply_add(a, b, product, m);
                   }});
    all.push_back({cuda("__fdiv", suffix, "(a, b)"), [m = mode](float a, float b, float) { return divide(a, b, m); }});
    all.push_back({cuda("__frcp", suffix, "(a)"), [m = mode](float a, float, float) { return divide(1, a, m); }});
    all.push_back({cuda("__fsqrt", suffix, "(a)"), [m = mode](float a, float, float) { return root(a, m); }});
  }
  expect_same_bits<float>("float", all);
}

double add(double a, double b, Mode mode) {
  const double nearest = a + b;
  if (!std::isfinite(nearest) || !std::isfinite(a) || !std::isfinite(b)) return nearest;
  const Sum sum = exact_sum(a, b);
  if (sum.error == 0 || mode == Mode::kNearest) return sum.value == 0 && mode == Mode::kDown && a != 0 ? -0.0 : nearest;
  const bool up = mode == Mode::kUp || (mode == Mode::kZero && nearest < 0);
  if (up == (sum.error > 0)) return std::nextafter(nearest, up ? INFINITY : -INFINITY);
  return nearest;
}

TEST(Rounding, DoublesInAllModes) {
  // Finite sums of nonzero parts.
  std::vector<std::string> texts;
  std::vector<Expression<double>> all;
  texts.reserve(16);
  for (const auto& [suffix, mode] : kModes) {
    texts.push_back(std::string("__dadd") + suffix + "(1.0 + (fabs(b) < 1 ? b : 0.5), fabs(a) < 1e300 ? a : 3.0)");
    all.push_back({texts.back().c_str(), [m = mode](double a, double b, double) {
                     const volatile double first = 1.0 + (std::fabs(b) < 1 ? b : 0.5);
                     return add(first, std::fabs(a) < 1e300 ? a : 3.0, m);
                   }});
  }
  expect_same_bits<double>("double", all);
}

}  // namespace
}  // namespace tern::emulated
