// 8-bit floats against PyTorch 2.12 and 2.15 on a CPU.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "dtypes/small_float.h"
#include "tests/dtypes/golden.h"

namespace tern::test {
namespace {

std::uint32_t bits_of(float f) {
  return std::bit_cast<std::uint32_t>(f);
}

/// Round trips are equal in every bit, except the bits of NaN.
template <class T>
void expect_casts(const std::string& name, Overflow policy) {
  const Golden golden("float8_casts.safetensors");
  const auto in = golden.get<float>("in");
  const auto want = golden.get<float>(name);
  ASSERT_EQ(in.size(), 4513u);
  ASSERT_EQ(in.size(), want.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const float got = static_cast<float>(T(in[i], policy));
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got)) << in[i];
    } else {
      EXPECT_EQ(bits_of(got), bits_of(want[i])) << in[i];
    }
  }
}

TEST(Float8Golden, E4m3fnBefore215) {
  expect_casts<F8E4M3FN>("e4m3fn", Overflow::to_nan);
}
TEST(Float8Golden, E4m3fnSince215) {
  expect_casts<F8E4M3FN>("e4m3fn.saturate", Overflow::saturate);
}

TEST(Float8Golden, OthersDoNotDependOnThePolicy) {
  for (const Overflow policy : {Overflow::to_nan, Overflow::saturate}) {
    expect_casts<F8E5M2>("e5m2", policy);
    expect_casts<F8E4M3FNUZ>("e4m3fnuz", policy);
    expect_casts<F8E5M2FNUZ>("e5m2fnuz", policy);
    expect_casts<F8E8M0>("e8m0", policy);
  }
}

TEST(Float8Golden, EveryE8m0Code) {
  const Golden golden("e8m0_all_codes.safetensors");
  const auto in = golden.get<float>("in");
  const auto rounded = golden.get<std::uint8_t>("rounded");
  const auto product = golden.get<float>("product");
  const auto decoded = golden.get<float>("decoded");
  ASSERT_EQ(in.size(), 256u);
  for (std::size_t i = 0; i < 256; ++i) {
    const F8E8M0 scale = F8E8M0::from_bits(static_cast<std::uint8_t>(i));
    EXPECT_EQ(F8E8M0(in[i]).bits, rounded[i]) << in[i];
    EXPECT_EQ(bits_of(static_cast<float>(scale)), bits_of(decoded[i])) << "code " << i;
    if (i < 255) {
      EXPECT_EQ(static_cast<double>(scale), std::ldexp(1.0, static_cast<int>(i) - 127));
      EXPECT_EQ(bits_of(in[i] * static_cast<float>(scale)), bits_of(product[i])) << "code " << i;
    } else {
      EXPECT_TRUE(std::isnan(static_cast<float>(scale)) && std::isnan(product[i]));
    }
  }
}

TEST(Float8Golden, E8m0RoundsTiesUpInTheExponent) {
  const float tiny = std::ldexp(1.0f, -127);
  EXPECT_EQ(F8E8M0(1.4f).bits, 127);
  EXPECT_EQ(F8E8M0(std::nextafter(1.5f, 0.0f)).bits, 127);
  EXPECT_EQ(F8E8M0(1.5f).bits, 128);
  EXPECT_EQ(F8E8M0(-1.0f).bits, 127);
  EXPECT_EQ(F8E8M0(0.0f).bits, 0);
  EXPECT_EQ(F8E8M0(tiny).bits, 0);
  EXPECT_EQ(F8E8M0(std::nextafter(tiny, 1.0f)).bits, 1);
  EXPECT_EQ(F8E8M0(6e-39f).bits, 1);
  EXPECT_EQ(F8E8M0(std::ldexp(1.0f, 127)).bits, 254);
  EXPECT_EQ(F8E8M0(3e38f).bits, 255);
  EXPECT_EQ(F8E8M0(INFINITY).bits, 255);
  EXPECT_EQ(F8E8M0(NAN).bits, 255);
}

}  // namespace
}  // namespace tern::test
