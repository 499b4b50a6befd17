// Arithmetic on hostile sizes: every pair of extreme operands, against 128 bits.
#include "dtypes/checked.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tern {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(), kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kExtremes[] = {kMin, kMin + 1, -7, -2, -1, 0, 1, 2, 3, 7, kMax - 1, kMax};

bool fits_int64(__int128 v) {
  return v >= kMin && v <= kMax;
}

using Operation = bool (*)(std::int64_t, std::int64_t, std::int64_t*);

void expect(Operation f, std::int64_t a, std::int64_t b, bool defined, __int128 want) {
  std::int64_t got = 0;
  const bool done = f(a, b, &got);
  EXPECT_EQ(done, defined && fits_int64(want)) << a << ' ' << b;
  if (done) {
    EXPECT_EQ(got, static_cast<std::int64_t>(want)) << a << ' ' << b;
  }
}

TEST(Checked, ExtremeOperands) {
  for (std::int64_t a : kExtremes) {
    for (std::int64_t b : kExtremes) {
      const __int128 x = a, y = b;
      expect(checked_add, a, b, true, x + y);
      expect(checked_sub, a, b, true, x - y);
      expect(checked_mul, a, b, true, x * y);
      const __int128 q = y == 0 ? 0 : x / y, r = y == 0 ? 0 : x % y;
      const bool down = r != 0 && (r < 0) != (y < 0);
      expect(checked_div, a, b, y != 0, q);
      expect(checked_floordiv, a, b, y != 0, q - down);
      expect(checked_mod, a, b, y != 0, r + (down ? y : 0));
      EXPECT_EQ(is_multiple(a, b), y != 0 && r == 0);
    }
    const auto negate = [](std::int64_t x, std::int64_t, std::int64_t* out) { return checked_neg(x, out); };
    expect(negate, a, 0, true, -static_cast<__int128>(a));
  }
}

template <class Int, class Float>
void expect_clamped() {
  constexpr auto low = std::numeric_limits<Int>::min(), high = std::numeric_limits<Int>::max();
  const Float inf = std::numeric_limits<Float>::infinity();
  EXPECT_EQ(clamped_to<Int>(std::numeric_limits<Float>::quiet_NaN()), Int{0});
  EXPECT_EQ(clamped_to<Int>(inf), high);
  EXPECT_EQ(clamped_to<Int>(-inf), low);
  EXPECT_EQ(clamped_to<Int>(std::ldexp(Float(1), 100)), high);
  EXPECT_EQ(clamped_to<Int>(-std::ldexp(Float(1), 100)), low);
  EXPECT_EQ(clamped_to<Int>(Float(2.75)), Int{2});
  if (std::is_signed_v<Int>) {
    EXPECT_EQ(clamped_to<Int>(Float(-2.75)), static_cast<Int>(-2));
  }
  const Float below = std::nextafter(static_cast<Float>(high), Float(0));
  if (below < static_cast<Float>(high)) {
    EXPECT_EQ(clamped_to<Int>(below), static_cast<Int>(below));
  }
}

TEST(Checked, FloatsOutsideOfIntegers) {
  expect_clamped<std::int64_t, float>();
  expect_clamped<std::int64_t, double>();
  expect_clamped<std::int32_t, float>();
  expect_clamped<std::int32_t, double>();
  expect_clamped<std::uint8_t, float>();
}

}  // namespace
}  // namespace tern
