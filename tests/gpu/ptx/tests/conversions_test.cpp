// Conversions among floats, halves, bfloat16 and integers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/gpu/ptx/tests/expressions.h"

namespace tern::emulated {
namespace {

struct Format {
  const char* name;
  int fraction, bias;  // bits of the fraction; the exponent 2^0 is written as
};

constexpr Format kHalf{"f16", 10, 15}, kBrain{"bf16", 7, 127};

// The value of 16 bits, from the format's definition.
double value_of(const Format& format, unsigned bits) {
  const unsigned exponents = (1u << (15 - format.fraction)) - 1, fractions = 1u << format.fraction;
  const unsigned exponent = bits >> format.fraction & exponents, fraction = bits & (fractions - 1);
  double value;
  if (exponent == exponents) {
    value = fraction ? std::nan("") : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, 1 - format.bias - format.fraction);
  } else {
    value = std::ldexp(fractions + fraction, static_cast<int>(exponent) - format.bias - format.fraction);
  }
  return bits >> 15 ? -value : value;
}

TEST(Conversions, AllHalvesAsFloats) {
  const Kernels kernels(R"(extern "C" __global__ void k(const unsigned short* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y[i]) : "h"(x[i]));
    asm("cvt.f32.bf16 %0, %1;" : "=f"(y[65536 + i]) : "h"(x[i]));
  })");
  std::vector<std::uint16_t> x(65536);
  std::vector<float> y(2 * x.size());
  for (unsigned i = 0; i < 65536; ++i) x[i] = static_cast<std::uint16_t>(i);
  kernels.run("k", {{256, 1, 1}, {256, 1, 1}}, x.data(), y.data());
  for (unsigned i = 0; i < y.size(); ++i) {
    const double wanted = value_of(i < 65536 ? kHalf : kBrain, i & 65535);
    if (wanted != wanted) {
      ASSERT_TRUE(y[i] != y[i]) << i;
      continue;
    }
    ASSERT_EQ(static_cast<double>(y[i]), wanted) << i;
    ASSERT_EQ(std::signbit(y[i]), std::signbit(wanted)) << i;
  }
}

std::string narrowing(const std::string& conversion) {
  return "extern \"C\" __global__ void k(const float* x, unsigned short* y) { const int i = blockIdx.x * blockDim.x + "
         "threadIdx.x; asm(\"" +
         conversion + " %0, %1;\" : \"=h\"(y[i]) : \"f\"(x[i])); }";
}

// Halves, the midpoints between neighbours, and adjacent floats: every rounding decision.
std::vector<float> near_all(const Format& format) {
  std::vector<float> x;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const double here = value_of(format, bits), next = value_of(format, bits + 1);
    if (!std::isfinite(here) || (bits & 0x7FFF) == 0x7FFF) continue;
    const float exact = static_cast<float>(here);
    // Past the greatest value: the next value of a larger format.
    const double middle = std::isfinite(next) ? (here + next) / 2 : here + (here - value_of(format, bits - 1)) / 2;
    const float half_way = static_cast<float>(middle);
    for (const float y : {exact, half_way, std::nextafter(half_way, 0.0f), std::nextafter(half_way, 2 * half_way)}) {
      x.push_back(y);
    }
  }
  for (const float y : {INFINITY, -INFINITY, 1e38f, -1e38f, 1e-45f, -1e-45f}) x.push_back(y);
  x.resize((x.size() + 255) / 256 * 256, 1.0f);
  return x;
}

double distance(double a, double b) {
  return std::fabs(a - b);
}

// Formats with infinity: the successor of the greatest value, 2^16 for f16.
double value_or_limit(const Format& format, unsigned bits) {
  const double value = value_of(format, bits);
  const double limit = std::ldexp(1.0, format.bias + 1);
  return std::isinf(value) ? std::copysign(limit, value) : value;
}

void check_nearest(const Format& format, const std::string& conversion) {
  SCOPED_TRACE(conversion);
  const std::vector<float> x = near_all(format);
  std::vector<std::uint16_t> y(x.size());
  Kernels(narrowing(conversion))
      .run("k", {{static_cast<std::uint32_t>(x.size() / 256), 1, 1}, {256, 1, 1}}, x.data(), y.data());
  const unsigned infinity = 0x7FFF >> format.fraction << format.fraction;
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(y[i] >> 15, static_cast<int>(std::signbit(x[i]))) << x[i];
    const unsigned magnitude = y[i] & 0x7FFF;
    ASSERT_LE(magnitude, infinity) << x[i];
    const double wanted = std::fabs(static_cast<double>(x[i])), limit = value_or_limit(format, infinity);
    if (wanted >= limit) {
      ASSERT_EQ(magnitude, infinity) << x[i];
      continue;
    }
    // No other is nearer, and of two as near the last bit is even.
    const double error = distance(value_or_limit(format, magnitude), wanted);
    for (const int step : {-1, 1}) {
      if ((step < 0 && magnitude == 0) || (step > 0 && magnitude == infinity)) continue;
      const double other = distance(value_or_limit(format, magnitude + static_cast<unsigned>(step)), wanted);
      ASSERT_TRUE(error < other || (error == other && magnitude % 2 == 0)) << x[i] << " gives " << y[i];
    }
  }
}

TEST(Conversions, FloatsToTheNearest) {
  check_nearest(kHalf, "cvt.rn.f16.f32");
  check_nearest(kBrain, "cvt.rn.bf16.f32");
}

TEST(Conversions, FloatsTowardsZero) {
  for (const Format& format : {kHalf, kBrain}) {
    const std::vector<float> x = near_all(format);
    std::vector<std::uint16_t> y(x.size());
    Kernels(narrowing(std::string("cvt.rz.") + format.name + ".f32"))
        .run("k", {{static_cast<std::uint32_t>(x.size() / 256), 1, 1}, {256, 1, 1}}, x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(y[i] >> 15, static_cast<int>(std::signbit(x[i]))) << x[i];
      const double wanted = std::fabs(static_cast<double>(x[i])), got = value_of(format, y[i] & 0x7FFF);
      ASSERT_LE(got, wanted) << x[i];
      ASSERT_TRUE(std::isinf(wanted) || wanted < value_of(format, (y[i] & 0x7FFF) + 1u)) << format.name << ' ' << x[i];
    }
  }
}

TEST(Conversions, PairsHaveTheirFirstAbove) {
  const Kernels kernels(R"(extern "C" __global__ void k(const float* x, unsigned* y) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y[0]) : "f"(x[0]), "f"(x[1]));
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y[1]) : "f"(x[0]), "f"(x[1]));
    asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(y[2]) : "f"(x[0]), "f"(x[1]));
  })");
  const float x[] = {1.5f, -2};
  unsigned y[3];
  kernels.run("k", {{1, 1, 1}, {1, 1, 1}}, &x[0], &y[0]);
  EXPECT_EQ(y[0], 0x3E00C000u);
  EXPECT_EQ(y[1], 0x3FC0C000u);
  EXPECT_EQ(y[2], 0x3FC00000u);
}

// CUDA: values out of range are clamped; of a NaN, 0 for 32 bits and the sign's bit for 64 bits of a double.
template <class To>
double clamped(double x) {
  const double least = static_cast<double>(std::numeric_limits<To>::min());
  if (x != x) return 0;
  if (x <= least) return least;
  if (x >= std::ldexp(1.0, std::numeric_limits<To>::digits)) return static_cast<double>(std::numeric_limits<To>::max());
  return std::trunc(x);
}

TEST(Conversions, FloatsToIntegersAreClamped) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const auto d = [](float x) { return static_cast<double>(x); };
  expect_same_bits<float>(
      "float", {
                   {"(float)(int)a", [=](float a, float, float) { return f(clamped<std::int32_t>(d(a)) + 0.0); }},
                   {"(float)(unsigned)a", [=](float a, float, float) { return f(clamped<std::uint32_t>(d(a)) + 0.0); }},
                   {"(float)__float2int_rn(a)",
                    [=](float a, float, float) { return f(clamped<std::int32_t>(std::nearbyint(d(a))) + 0.0); }},
                   {"(float)__float2int_ru(a)",
                    [=](float a, float, float) { return f(clamped<std::int32_t>(std::ceil(d(a))) + 0.0); }},
                   {"(float)__float2int_rd(a)",
                    [=](float a, float, float) { return f(clamped<std::int32_t>(std::floor(d(a))) + 0.0); }},
                   {"(float)(double)a", [](float a, float, float) { return a; }},
                   {"__uint_as_float(__float_as_uint(a) ^ 0x80000000u)", [](float a, float, float) { return -a; }},
               });
}

TEST(Conversions, IntegersToFloats) {
  using L = std::int64_t;
  const auto bits = [](auto x) {
    L to = 0;
    std::memcpy(&to, &x, sizeof x);
    return to;
  };
  expect_same_bits<L>(
      "long long", {
                       {"__double_as_longlong((double)a)", [=](L a, L, L) { return bits(static_cast<double>(a)); }},
                       {"__double_as_longlong((double)(unsigned long long)a)",
                        [=](L a, L, L) { return bits(static_cast<double>(static_cast<std::uint64_t>(a))); }},
                       {"(unsigned)__float_as_int((float)a)", [=](L a, L, L) { return bits(static_cast<float>(a)); }},
                       {"(unsigned)__float_as_int((float)(unsigned long long)a)",
                        [=](L a, L, L) { return bits(static_cast<float>(static_cast<std::uint64_t>(a))); }},
                       {"(unsigned)__float_as_int((float)(short)a)",
                        [=](L a, L, L) { return bits(static_cast<float>(static_cast<std::int16_t>(a))); }},
                       {"(signed char)a", [](L a, L, L) { return L{static_cast<std::int8_t>(a)}; }},
                       {"(unsigned char)a", [](L a, L, L) { return L{static_cast<std::uint8_t>(a)}; }},
                       {"(int)a", [](L a, L, L) { return L{static_cast<std::int32_t>(a)}; }},
                       {"(unsigned)a", [](L a, L, L) { return L{static_cast<std::uint32_t>(a)}; }},
                   });
}

}  // namespace
}  // namespace tern::emulated
