// Arithmetic of floats and integers to the nearest, against the host's.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/gpu/ptx/tests/expressions.h"

namespace tern::emulated {
namespace {

// min of PTX: "If one of the inputs is NaN, the other is the result", for any NaN, and -0 is less than 0.
template <class T>
T ptx_min(T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <class T>
std::vector<Expression<T>> float_expressions() {
  return {
      {"a + b", [](T a, T b, T) { return a + b; }},
      {"a - b", [](T a, T b, T) { return a - b; }},
      {"a * b", [](T a, T b, T) { return a * b; }},
      {"a / b", [](T a, T b, T) { return a / b; }},
      {"a * b + c",
       [](T a, T b, T c) {
         volatile T product = a * b;
         return product + c;
       }},
      {"fma(a, b, c)", [](T a, T b, T c) { return std::fma(a, b, c); }},
      {"sqrt(a)", [](T a, T, T) { return std::sqrt(a); }},
      {"-fabs(a)", [](T a, T, T) { return -std::fabs(a); }},
      {"fmin(a, b)", [](T a, T b, T) { return ptx_min(a, b); }},
      {"fmax(a, b)", [](T a, T b, T) { return -ptx_min(-a, -b); }},
      {"copysign(a, b)", [](T a, T b, T) { return std::copysign(a, b); }},
      {"floor(a)", [](T a, T, T) { return std::floor(a); }},
      {"ceil(a)", [](T a, T, T) { return std::ceil(a); }},
      {"trunc(a)", [](T a, T, T) { return std::trunc(a); }},
      {"rint(a)", [](T a, T, T) { return std::nearbyint(a); }},
      {"a < b ? a : c", [](T a, T b, T c) { return a < b ? a : c; }},
      {"!(a >= b) ? a : c", [](T a, T b, T c) { return !(a >= b) ? a : c; }},
      {"a == b || b != b ? a : c", [](T a, T b, T c) { return a == b || b != b ? a : c; }},
      {"isinf(a) ? b : c", [](T a, T b, T c) { return std::isinf(a) ? b : c; }},
  };
}

TEST(Arithmetic, Floats) {
  expect_same_bits<float>("float", float_expressions<float>());
  expect_same_bits<double>("double", float_expressions<double>());
}

template <class T>
std::vector<Expression<T>> integer_expressions() {
  using U = std::make_unsigned_t<T>;
  // Avoids operations undefined in C: b | 1 is not 0, and only -1 overflows in the division of the least number.
  static constexpr auto divisor = [](T b) { return static_cast<T>(b | 1) == static_cast<T>(-1) ? T(5) : T(b | 1); };
  return {
      {"(T)(a + b)", [](T a, T b, T) { return static_cast<T>(U(a) + U(b)); }},
      {"(T)(a - b)", [](T a, T b, T) { return static_cast<T>(U(a) - U(b)); }},
      {"(T)((unsigned long long)a * b)",
       [](T a, T b, T) { return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)); }},
      {"(T)((unsigned long long)a * b + c)",
       [](T a, T b, T c) {
         return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b) +
                               static_cast<std::uint64_t>(c));
       }},
      {"(T)(a / ((T)(b | 1) == (T)-1 ? (T)5 : (T)(b | 1)))",
       [](T a, T b, T) { return static_cast<T>(a / divisor(b)); }},
      {"(T)(a % ((T)(b | 1) == (T)-1 ? (T)5 : (T)(b | 1)))",
       [](T a, T b, T) { return static_cast<T>(a % divisor(b)); }},
      {"(T)(a >> (b & (sizeof(T) * 8 - 1)))",
       [](T a, T b, T) { return static_cast<T>(a >> (b & static_cast<T>(sizeof(T) * 8 - 1))); }},
      {"(T)(a << (b & (sizeof(T) * 8 - 1)))",
       [](T a, T b, T) { return static_cast<T>(static_cast<std::uint64_t>(a) << (b & T(sizeof(T) * 8 - 1))); }},
      {"(T)(a & b | ~c)", [](T a, T b, T c) { return static_cast<T>((a & b) | ~c); }},
      {"(T)(a ^ b ^ c)", [](T a, T b, T c) { return static_cast<T>(a ^ b ^ c); }},
      {"a < b ? a : b", [](T a, T b, T) { return std::min(a, b); }},
      {"a > b ? a : b", [](T a, T b, T) { return std::max(a, b); }},
      {"(T)(a <= c && b != c)", [](T a, T b, T c) { return static_cast<T>(a <= c && b != c); }},
  };
}

TEST(Arithmetic, Integers) {
  expect_same_bits<std::int16_t>("short", integer_expressions<std::int16_t>());
  expect_same_bits<std::uint16_t>("unsigned short", integer_expressions<std::uint16_t>());
  expect_same_bits<std::int32_t>("int", integer_expressions<std::int32_t>());
  expect_same_bits<std::uint32_t>("unsigned", integer_expressions<std::uint32_t>());
  expect_same_bits<std::int64_t>("long long", integer_expressions<std::int64_t>());
  expect_same_bits<std::uint64_t>("unsigned long long", integer_expressions<std::uint64_t>());
}

// "Division by zero yields an unspecified, machine-specific value" and does not end the process.
TEST(Arithmetic, IntegersDividedByZero) {
  const Kernels kernels("extern \"C\" __global__ void k(int* x) { x[0] = x[0] / x[1]; x[2] = x[2] % x[1]; }");
  int x[] = {1, 0, 1};
  kernels.run("k", {{1, 1, 1}, {1, 1, 1}}, &x[0]);
  int least[] = {std::numeric_limits<int>::min(), -1, 0};
  kernels.run("k", {{1, 1, 1}, {1, 1, 1}}, &least[0]);
  EXPECT_EQ(least[2], 0);
}

}  // namespace
}  // namespace tern::emulated
