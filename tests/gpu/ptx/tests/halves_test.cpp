// Arithmetic instructions on pairs and single values of f16 and bf16; formats of 8 bits and tf32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

#include "tests/gpu/ptx/tests/launcher.h"

namespace tern::emulated {
namespace {

constexpr std::size_t kPairs = 4096;

std::vector<std::uint32_t> pairs(std::uint64_t seed) {  // random bits
  std::vector<std::uint32_t> all(kPairs);
  for (std::uint32_t& x : all) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<std::uint32_t>(seed >> 32);
  }
  return all;
}

double half(std::uint16_t bits) {
  _Float16 x;
  std::memcpy(&x, &bits, 2);
  return static_cast<double>(x);
}

double brain(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float x;
  std::memcpy(&x, &wide, 4);
  return static_cast<double>(x);
}

std::string hex(std::uint16_t bits) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%04x", bits);
  return text;
}

// Expects `got` to be the nearest of the 65,536 values, ties to even, by comparison with its neighbours.
void expect_nearest(double (*value)(std::uint16_t), std::uint16_t got, __float128 exact, const std::string& what) {
  const double as_double = static_cast<double>(exact);
  if (std::isnan(as_double)) {
    ASSERT_TRUE(std::isnan(value(got))) << what;
    return;
  }
  const std::uint16_t magnitude = got & 0x7FFF;
  ASSERT_FALSE(std::isnan(value(got))) << what;
  ASSERT_TRUE(exact == 0 || (got >> 15 != 0) == (exact < 0)) << what;
  const __float128 wanted = exact < 0 ? -exact : exact;
  // An infinity is as far as the next finite value would be.
  const auto number = [&](std::uint16_t bits) -> __float128 {
    const double x = value(bits);
    if (!std::isinf(x)) return x;
    return __float128{value(static_cast<std::uint16_t>(bits - 1))} * 2 - value(static_cast<std::uint16_t>(bits - 2));
  };
  if (std::isinf(value(magnitude)) && (std::isinf(as_double) || wanted > number(magnitude))) return;
  ASSERT_FALSE(std::isinf(as_double)) << what;
  const auto error_of = [&](std::uint16_t bits) {
    const __float128 error = number(bits) - wanted;
    return error < 0 ? -error : error;
  };
  const __float128 error = error_of(magnitude);
  if (magnitude > 0) {
    const __float128 below = error_of(static_cast<std::uint16_t>(magnitude - 1));
    ASSERT_TRUE(error < below || (error == below && magnitude % 2 == 0)) << what << " gives " << hex(got);
  }
  if (!std::isinf(value(magnitude))) {
    const __float128 above = error_of(static_cast<std::uint16_t>(magnitude + 1));
    ASSERT_TRUE(error < above || (error == above && magnitude % 2 == 0)) << what << " gives " << hex(got);
  }
}

// A term too small to change the sum still decides the side of a midpoint.
__float128 fused(__float128 a, __float128 b, __float128 c) {
  const __float128 product = a * b, sum = product + c;
  if (sum != product || c == 0 || !std::isfinite(static_cast<double>(sum))) return sum;
  const __float128 little = sum * std::ldexp(1.0, -100);
  return (c > 0) == (sum > 0) ? sum + little : sum - little;
}

struct Instruction {
  std::string text;  // with TYPE
  std::function<__float128(__float128, __float128, __float128)> exact;
};

void check(const std::string& type, double (*value)(std::uint16_t)) {
  const std::vector<Instruction> instructions{
      {"add.rn.TYPE %0, %1, %2;", [](__float128 a, __float128 b, __float128) { return a + b; }},
      {"sub.rn.TYPE %0, %1, %2;", [](__float128 a, __float128 b, __float128) { return a - b; }},
      {"mul.rn.TYPE %0, %1, %2;", [](__float128 a, __float128 b, __float128) { return a * b; }},
      {"fma.rn.TYPE %0, %1, %2, %3;", fused},
      {"fma.rn.relu.TYPE %0, %1, %2, %3;",
       [](__float128 a, __float128 b, __float128 c) {
         const __float128 sum = fused(a, b, c);
         return sum < 0 ? __float128{0} : sum;
       }},
      {"neg.TYPE %0, %1;", [](__float128 a, __float128, __float128) { return -a; }},
      {"abs.TYPE %0, %1;", [](__float128 a, __float128, __float128) { return a < 0 ? -a : a; }},
      {"min.TYPE %0, %1, %2;",
       [](__float128 a, __float128 b, __float128) {
         return a != a ? b : b != b ? a : a < b ? a : b;
       }},
      {"max.NaN.TYPE %0, %1, %2;",
       [](__float128 a, __float128 b, __float128) {
         return a != a ? a : b != b ? b : a > b ? a : b;
       }},
  };
  std::string text;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    std::string ptx = instructions[i].text;
    ptx.replace(ptx.find("TYPE"), 4, type + "x2");
    text += "extern \"C\" __global__ void k" + std::to_string(i) +
            "(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* y) { const int i = blockIdx.x * "
            "blockDim.x + threadIdx.x; asm(\"" +
            ptx + "\" : \"=r\"(y[i]) : \"r\"(a[i]), \"r\"(b[i]), \"r\"(c[i])); }\n";
  }
  const Kernels kernels(text);
  const std::vector<std::uint32_t> a = pairs(1), b = pairs(2), c = pairs(3);
  std::vector<std::uint32_t> y(kPairs);
  for (std::size_t k = 0; k < instructions.size(); ++k) {
    kernels.run("k" + std::to_string(k), {{kPairs / 128, 1, 1}, {128, 1, 1}}, a.data(), b.data(), c.data(), y.data());
    const bool relu = instructions[k].text.find("relu") != std::string::npos;
    for (std::size_t i = 0; i < kPairs; ++i) {
      for (const int shift : {0, 16}) {
        const auto part = [&](std::uint32_t x) { return static_cast<std::uint16_t>(x >> shift); };
        const __float128 exact = instructions[k].exact(value(part(a[i])), value(part(b[i])), value(part(c[i])));
        // The ISA on relu: "NaN result is converted to canonical NaN", so NaN stays NaN.
        ASSERT_FALSE(relu && part(y[i]) >> 15 && !std::isnan(value(part(y[i])))) << i;
        expect_nearest(value, part(y[i]), exact,
                       type + " " + instructions[k].text + " of " + hex(part(a[i])) + ", " + hex(part(b[i])) + ", " +
                           hex(part(c[i])));
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Halves, ResultsAreRoundedOnce) {
  check("f16", half);
}
TEST(Halves, BrainFloatsAreRoundedOnce) {
  check("bf16", brain);
}

// OFP8: e4m3 has NaNs only at 0x7F and 0xFF and no infinities; e5m2 is the upper half of an f16.
double float8(int fraction, int bias, unsigned bits) {
  const int exponent = static_cast<int>(bits >> fraction & (0x7Fu >> fraction));
  const int digits = static_cast<int>(bits & ((1u << fraction) - 1));
  const double value = exponent ? std::ldexp((1 << fraction) + digits, exponent - bias - fraction)
                                : std::ldexp(digits, 1 - bias - fraction);
  return bits & 0x80 ? -value : value;
}

TEST(Halves, FormatsOfEightBits) {
  const Kernels kernels(R"(extern "C" __global__ void k(unsigned* wide4, unsigned* wide5, unsigned short* back4,
                                                        unsigned short* back5) {
    const int t = threadIdx.x;
    const unsigned short both = t << 8 | (255 - t);
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(wide4[t]) : "h"(both));
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(wide5[t]) : "h"(both));
    const float x = t * 4.125f - 500;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(back4[t]) : "f"(x), "f"(0.0f));
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(back5[t]) : "f"(x * 200), "f"(1.0f));
  })");
  std::vector<std::uint32_t> wide4(256), wide5(256);
  std::vector<std::uint16_t> back4(256), back5(256);
  kernels.run("k", {{1, 1, 1}, {256, 1, 1}}, wide4.data(), wide5.data(), back4.data(), back5.data());
  for (unsigned t = 0; t < 256; ++t) {
    for (const bool upper : {true, false}) {
      const unsigned bits = upper ? t : 255 - t;
      const auto got4 = half(static_cast<std::uint16_t>(wide4[t] >> (upper ? 16 : 0)));
      if ((bits & 0x7F) == 0x7F) {
        EXPECT_TRUE(std::isnan(got4)) << bits;
      } else {
        EXPECT_EQ(got4, float8(3, 7, bits)) << bits;
      }
      const auto got5 = half(static_cast<std::uint16_t>(wide5[t] >> (upper ? 16 : 0)));
      if ((bits & 0x7F) > 0x7C) {
        EXPECT_TRUE(std::isnan(got5)) << bits;
      } else {
        EXPECT_EQ(got5, half(static_cast<std::uint16_t>(bits << 8))) << bits;
      }
    }
    const double x = t * 4.125 - 500;
    // No finite code is nearer; far values become the greatest.
    const auto check_nearest = [](double wanted, unsigned code, int fraction, int bias, unsigned most) {
      ASSERT_LE(code & 0x7F, most);
      const double error = std::fabs(float8(fraction, bias, code) - wanted);
      for (unsigned other = 0; other < 256; ++other) {
        if ((other & 0x7F) > most) continue;
        const double distance = std::fabs(float8(fraction, bias, other) - wanted);
        ASSERT_TRUE(error < distance || (error == distance && (code % 2 == 0 || code == other))) << wanted;
      }
    };
    check_nearest(x, back4[t] >> 8, 3, 7, 0x7E);
    EXPECT_EQ(back4[t] & 255, 0);
    check_nearest(x * 200, back5[t] >> 8, 2, 15, 0x7B);
    EXPECT_EQ(back5[t] & 255, 0x3C);
  }
}

// tf32 has 10 bits of fraction; ".rna: to nearest, ties away from zero".
TEST(Halves, Tf32) {
  const Kernels kernels(R"(extern "C" __global__ void k(const float* x, unsigned* y) {
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y[threadIdx.x]) : "f"(x[threadIdx.x]));
  })");
  std::vector<float> x(32), y(32);
  for (int t = 0; t < 32; ++t) x[t] = (t % 2 ? -1.0f : 1.0f) * (1 + static_cast<float>(t) / 4096);
  kernels.run("k", {}, x.data(), y.data());
  for (int t = 0; t < 32; ++t) {
    const double wanted = std::round(static_cast<double>(x[t]) * 1024) / 1024;  // halves away from zero
    std::uint32_t bits;
    std::memcpy(&bits, &y[t], 4);
    bits &= ~0x1FFFu;  // the lower bits are unspecified
    float got;
    std::memcpy(&got, &bits, 4);
    EXPECT_EQ(static_cast<double>(got), wanted) << x[t];
  }
}

}  // namespace
}  // namespace tern::emulated
