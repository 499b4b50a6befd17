// The primitives of this file's instruction set, against plain arithmetic.
#include "kernels/cpu/simd/simd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "dtypes/small_float.h"

namespace tern::simd {
namespace {

constexpr float kFloatNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

/// Compares bits: a NaN equals itself, and zeros differ.
std::uint32_t bits(float x) {
  std::uint32_t u = 0;
  std::memcpy(&u, &x, sizeof u);
  return u;
}

TEST(Simd, LoadsAndStoresTheFirstLanesAlone) {
  for (int count = 0; count <= kLanes; ++count) {
    // Vectors of exact size, so that sanitizers detect accesses past the end.
    std::vector<float> from(static_cast<std::size_t>(count)), to(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) from[static_cast<std::size_t>(i)] = static_cast<float>(i + 1);
    const Floats v = load_some(from.data(), count);
    for (int i = 0; i < kLanes; ++i) EXPECT_EQ(v[i], i < count ? static_cast<float>(i + 1) : 0.0F);
    store_some(to.data(), v, count);
    EXPECT_EQ(to, from);
  }
}

TEST(Simd, FusedExactlyRoundsOnce) {
  const float a = 1 + 0x1p-20F, c = -1 - 0x1p-19F;
  EXPECT_EQ(exact_fma(a, broadcast(a), broadcast(c))[kLanes - 1], 0x1p-40F);
  const double d = 1 + 0x1p-50, e = -1 - 0x1p-49;
  EXPECT_EQ(exact_fma(d, Doubles{} + d, Doubles{} + e)[0], 0x1p-100);
  if (kFused) {
    EXPECT_EQ(fma(broadcast(a), broadcast(a), broadcast(c))[0], 0x1p-40F);
  }
}

TEST(Simd, LeastAndGreatestKeepNaN) {
  const float values[] = {0.0F, -0.0F, 1.5F, -2.0F, kInfinity, -kInfinity, kFloatNaN};
  for (const float x : values) {
    for (const float y : values) {
      const float less = x < y || std::isnan(x) ? x : y, more = x > y || std::isnan(x) ? x : y;
      EXPECT_EQ(bits(min(broadcast(x), broadcast(y))[0]), bits(less)) << x << ", " << y;
      EXPECT_EQ(bits(max(broadcast(x), broadcast(y))[0]), bits(more)) << x << ", " << y;
      EXPECT_EQ(bits(min(x, y)), bits(less)) << x << ", " << y;
      EXPECT_EQ(bits(max(x, y)), bits(more)) << x << ", " << y;
    }
  }
}

TEST(Simd, RoundsToBytes) {
  const float values[] = {0.0F,   -0.0F,  0.5F,    1.5F,    2.5F,   -0.5F, -1.5F,
                          126.5F, 127.5F, -127.5F, 254.49F, 255.0F, 300.0F};
  for (const float x : values) {
    for (int count = 1; count <= kLanes; ++count) {
      std::vector<std::uint8_t> to(static_cast<std::size_t>(count));  // exact size: sanitizers detect overruns
      store_some_low_bytes(to.data(), rounded(broadcast(x)), count);
      const auto expected = static_cast<std::uint8_t>(static_cast<int>(std::nearbyint(x)));
      EXPECT_EQ(to, std::vector<std::uint8_t>(static_cast<std::size_t>(count), expected)) << x;
    }
  }
  Integers w;
  for (int i = 0; i < kLanes; ++i) w[i] = 1000 * i - 3;
  std::vector<std::uint8_t> to(kLanes);
  store_low_bytes(to.data(), w);
  for (int i = 0; i < kLanes; ++i)
    EXPECT_EQ(to[static_cast<std::size_t>(i)], static_cast<std::uint8_t>(1000 * i - 3)) << i;
  store_low_bytes(to.data(), rounded(broadcast(kFloatNaN)));
  EXPECT_EQ(to, std::vector<std::uint8_t>(kLanes, 0));
}

TEST(Simd, BoundsKeepNaN) {
  for (const float x : {-3.0F, -1.0F, 0.25F, 7.0F, kInfinity, -kInfinity})
    EXPECT_EQ(clamp(broadcast(x), broadcast(-1), broadcast(2))[0], x < -1 ? -1.0F : x > 2 ? 2.0F : x);
  EXPECT_TRUE(std::isnan(clamp(broadcast(kFloatNaN), broadcast(-1), broadcast(2))[0]));
}

TEST(Simd, TimesPowerReachesSubnormalNumbers) {
  for (int n = -151; n <= 127; ++n) {
    const Floats made = times_power(broadcast(1.25F), broadcast(static_cast<float>(n)), Integers{} + n);
    EXPECT_EQ(made[0], std::ldexp(1.25F, n)) << n;
  }
}

TEST(Simd, WidensEveryHalfAndBFloat16) {
  for (std::uint32_t first = 0; first < 0x10000; first += kLanes) {
    std::uint16_t codes[kLanes];
    for (int i = 0; i < kLanes; ++i) codes[i] = static_cast<std::uint16_t>(first + static_cast<std::uint32_t>(i));
    const Floats half = widen_half(codes), brain = widen_bfloat16(codes);
    for (int i = 0; i < kLanes; ++i) {
      const float expected = Half::decode(codes[i]);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(half[i])) << codes[i];
      } else {
        EXPECT_EQ(bits(half[i]), bits(expected)) << codes[i];
      }
      EXPECT_EQ(bits(brain[i]), static_cast<std::uint32_t>(codes[i]) << 16);
    }
  }
}

TEST(Simd, TransposesFourRows) {
  Quad rows[4];
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) rows[i][j] = static_cast<float>(10 * i + j);
  }
  transpose(rows);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) EXPECT_EQ(rows[i][j], static_cast<float>(10 * j + i));
  }
}

}  // namespace
}  // namespace tern::simd
