// Every code of every small float, every rounding tie, and floats of every sign, exponent and leading mantissa.
#include "dtypes/small_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "dtypes/bulk.h"
#include "tests/dtypes/reference_format.h"

namespace tern::test {
namespace {

std::uint32_t bits_of_small_float(float f) {
  return std::bit_cast<std::uint32_t>(f);
}

/// Compares both overflow policies with the reference, except for NaN.
template <class T>
void expect_rounded(const std::vector<double>& ladder, float x) {
  const ReferenceFormat& f = reference<T>;
  for (const Overflow policy : {Overflow::to_nan, Overflow::saturate}) {
    const T got(x, policy);
    const std::uint32_t place = ReferenceFormat::nearest(ladder, std::fabs(static_cast<double>(x)));
    const bool overflow = place == ladder.size() - 1;
    const std::uint32_t sign = std::signbit(x) ? f.sign() : 0;
    std::uint32_t want = place | sign;
    if (overflow && f.top == TopCodes::one_nan) want = policy == Overflow::to_nan ? place | sign : (place - 1) | sign;
    if (overflow && f.top == TopCodes::negative_zero_is_nan) want = f.sign();
    if (overflow && f.top == TopCodes::all_finite) want = (place - 1) | sign;
    if (place == 0 && f.top == TopCodes::negative_zero_is_nan) want = 0;
    ASSERT_EQ(got.bits, want) << "of " << x << " with bits " << std::hex << bits_of_small_float(x);
  }
}

template <class T>
class SmallFloatTest : public testing::Test {};
using Formats = testing::Types<Half, BFloat16, F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ, F6E2M3, F6E3M2, F4E2M1>;
TYPED_TEST_SUITE(SmallFloatTest, Formats);

TYPED_TEST(SmallFloatTest, ExtremesArePublished) {
  const ReferenceFormat& f = reference<TypeParam>;
  EXPECT_EQ(static_cast<double>(TypeParam::from_bits(1)), f.smallest);
  EXPECT_EQ(static_cast<double>(TypeParam(static_cast<float>(f.largest))), f.largest);
  EXPECT_EQ(static_cast<double>(TypeParam(static_cast<float>(-f.largest))), -f.largest);
}

TYPED_TEST(SmallFloatTest, EveryCodeDecodesAndComesBack) {
  const ReferenceFormat& f = reference<TypeParam>;
  for (std::uint32_t code = 0; code < 2 * f.sign(); ++code) {
    const TypeParam element = TypeParam::from_bits(static_cast<typename TypeParam::Bits>(code));
    const float got = static_cast<float>(element);
    const double want = f.value(code);
    ASSERT_EQ(bits_of_small_float(TypeParam::decode(element.bits)), bits_of_small_float(got)) << "code " << code;
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << "code " << code;
      ASSERT_TRUE(f.is_nan(TypeParam(got).bits)) << "code " << code;
    } else {
      ASSERT_EQ(static_cast<double>(got), want) << "code " << code;
      ASSERT_EQ(std::signbit(got), std::signbit(want)) << "code " << code;
      if (std::isfinite(want)) {
        ASSERT_EQ(TypeParam(got).bits, code);
      }
    }
  }
}

TYPED_TEST(SmallFloatTest, EveryTieAndItsNeighboursRound) {
  const std::vector<double> ladder = reference<TypeParam>.ladder();
  for (std::size_t i = 0; i + 1 < ladder.size(); ++i) {
    const float tie = static_cast<float>((ladder[i] + ladder[i + 1]) / 2);
    for (const float x : {std::nextafter(tie, 0.0f), tie, std::nextafter(tie, INFINITY)}) {
      expect_rounded<TypeParam>(ladder, x);
      expect_rounded<TypeParam>(ladder, -x);
    }
  }
}

TYPED_TEST(SmallFloatTest, FloatsOfEveryUpperHalfRound) {
  const std::vector<double> ladder = reference<TypeParam>.ladder();
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (const std::uint32_t low : {0u, 1u, 0x1000u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const float x = std::bit_cast<float>(high << 16 | low);
      if (!std::isnan(x)) expect_rounded<TypeParam>(ladder, x);
    }
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(SmallFloatTest, NanStaysNanOrBecomesTheLargest) {
  const ReferenceFormat& f = reference<TypeParam>;
  for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu}) {
    for (const Overflow policy : {Overflow::to_nan, Overflow::saturate}) {
      const TypeParam got(std::bit_cast<float>(bits), policy);
      if (f.top == TopCodes::all_finite) {
        EXPECT_EQ(static_cast<double>(got), f.largest);
      } else {
        EXPECT_TRUE(f.is_nan(got.bits)) << std::hex << bits;
      }
    }
  }
}

TYPED_TEST(SmallFloatTest, RunsEqualTheirElements) {
  std::vector<float> in;
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (const std::uint32_t low : {0u, 0x0fffu, 0x1000u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      in.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  std::vector<TypeParam> out(in.size());
  for (const Overflow policy : {Overflow::to_nan, Overflow::saturate}) {
    encode_run(in.data(), out.data(), static_cast<std::int64_t>(in.size()), policy);
    for (std::size_t i = 0; i < in.size(); ++i) {
      ASSERT_EQ(out[i].bits, TypeParam(in[i], policy).bits) << std::hex << bits_of_small_float(in[i]);
    }
  }
  std::vector<TypeParam> codes;
  for (std::uint32_t c = 0; c < 1u << (8 * sizeof(TypeParam)); ++c) {
    codes.push_back(TypeParam::from_bits(static_cast<typename TypeParam::Bits>(c)));
  }
  std::vector<float> values(codes.size());
  decode_run(codes.data(), values.data(), static_cast<std::int64_t>(codes.size()));
  for (std::size_t c = 0; c < codes.size(); ++c) {
    ASSERT_EQ(bits_of_small_float(values[c]), bits_of_small_float(static_cast<float>(codes[c]))) << "code " << c;
  }
}

TYPED_TEST(SmallFloatTest, RunsOfEveryShortLengthTouchNothingElse) {
  for (std::size_t n = 0; n < 70; ++n) {
    std::vector<float> in(n + 1, 1.5f);
    std::vector<TypeParam> out(n + 1, TypeParam(0.5f));
    encode_run(in.data(), out.data(), static_cast<std::int64_t>(n), Overflow::saturate);
    std::vector<float> back(n + 1, -7.0f);
    decode_run(out.data(), back.data(), static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(back[i], 1.5f) << i << " of " << n;
    ASSERT_EQ(static_cast<float>(out[n]), 0.5f);
    ASSERT_EQ(back[n], -7.0f);
  }
}

TEST(SmallFloat, ConvertsAtCompileTime) {
  static_assert(static_cast<float>(Half(1.0f / 3)) == 0.333251953125f);
  static_assert(static_cast<double>(F8E4M3FN(464.0f, Overflow::to_nan)) == 448.0);
  static_assert(F8E4M3FN(465.0f, Overflow::to_nan).bits == 0x7f && F8E4M3FN(465.0f, Overflow::saturate).bits == 0x7e);
  static_assert(static_cast<bool>(BFloat16(-0.5f)) && !static_cast<bool>(Half(-0.0f)));
  EXPECT_TRUE(static_cast<bool>(Half(NAN)));
}

}  // namespace
}  // namespace tern::test
