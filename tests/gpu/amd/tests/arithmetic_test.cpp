// Instructions on floats and bits, against the host's arithmetic. Bits count: no contraction, no flushed subnormals.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/gpu/amd/tests/launcher.h"

namespace tern::gpu::amd {
namespace {

constexpr std::size_t kCount = 4096;

template <class T>
std::vector<T> numbers(std::uint64_t seed) {  // numbers with all exponents
  std::vector<T> all(kCount);
  for (T& x : all) {
    for (auto* byte = reinterpret_cast<std::uint8_t*>(&x); byte != reinterpret_cast<std::uint8_t*>(&x + 1); ++byte) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      *byte = static_cast<std::uint8_t>(seed >> 56);
    }
  }
  return all;
}

template <class T>
std::vector<T> run(const char* type, const std::string& expression, const std::vector<T>& a, const std::vector<T>& b,
                   const std::vector<T>& c, const std::vector<std::string>& options = {"-ffp-contract=off"}) {
  const Library library(
      std::string("typedef ") + type +
          " T; extern \"C\" __global__ void k(const T* x, const T* y, const T* z, T* to) {"
          "const int i = blockIdx.x * 64 + threadIdx.x; const T a = x[i], b = y[i], c = z[i]; to[i] = " +
          expression + "; }",
      options);
  std::vector<T> to(kCount);
  library.run("k", {{kCount / 64, 1, 1}, {64, 1, 1}}, a.data(), b.data(), c.data(), to.data());
  return to;
}

template <class T, class Expected>
void same_bits(const char* type, const std::string& expression, const Expected& expected,
               const std::vector<std::string>& options = {"-ffp-contract=off"}) {
  SCOPED_TRACE(std::string(type) + ' ' + expression);
  const std::vector<T> a = numbers<T>(1), b = numbers<T>(2), c = numbers<T>(3),
                       to = run(type, expression, a, b, c, options);
  for (std::size_t i = 0; i < kCount; ++i) {
    const T wanted = static_cast<T>(expected(a[i], b[i], c[i]));
    if (wanted != wanted && to[i] != to[i]) continue;
    ASSERT_EQ(std::memcmp(&wanted, &to[i], sizeof(T)), 0)
        << i << ": " << static_cast<double>(a[i]) << ' ' << static_cast<double>(b[i]) << ' '
        << static_cast<double>(c[i]) << " gives " << static_cast<double>(to[i]);
  }
}

TEST(Arithmetic, FloatsHaveTheHostsBits) {
  same_bits<float>("float", "a * b + c", [](float a, float b, float c) {
    volatile float p = a * b;
    return p + c;
  });
  same_bits<float>("float", "a / b", [](float a, float b, float) { return a / b; });
  same_bits<float>("float", "__builtin_sqrtf(a)", [](float a, float, float) { return std::sqrt(a); });
  same_bits<float>("float", "__builtin_fmaf(a, b, c)", [](float a, float b, float c) { return std::fma(a, b, c); });
  same_bits<double>("double", "a * b + c", [](double a, double b, double c) {
    volatile double p = a * b;
    return p + c;
  });
  same_bits<double>("double", "a / b - __builtin_sqrt(c)",
                    [](double a, double b, double c) { return a / b - std::sqrt(c); });
  same_bits<float>("float", "(float)(int)(a > 0 && a < 1e9f ? a : 1)", [](float a, float, float) {
    return static_cast<float>(static_cast<int>(a > 0 && a < 1e9f ? a : 1));
  });
}

// gfx942 fuses contracted operations if the language allows contraction.
TEST(Arithmetic, ContractionIsTheTexts) {
  same_bits<float>("float", "a * b + c", [](float a, float b, float c) { return std::fma(a, b, c); },
                   {"-ffp-contract=fast"});
  same_bits<double>("double", "a * b + c", [](double a, double b, double c) { return std::fma(a, b, c); },
                    {"-ffp-contract=on"});
}

TEST(Arithmetic, HalfsAreRoundedOnce) {
  same_bits<_Float16>("_Float16", "a * b",
                      [](_Float16 a, _Float16 b, _Float16) { return static_cast<double>(a) * static_cast<double>(b); });
  // The exact sum needs 80 bits: long double rounds precisely enough for the second rounding to see only true ties.
  same_bits<_Float16>("_Float16", "__builtin_fmaf16(a, b, c)", [](_Float16 a, _Float16 b, _Float16 c) {
    const __float128 sum =
        static_cast<__float128>(static_cast<double>(a)) * static_cast<__float128>(static_cast<double>(b)) +
        static_cast<__float128>(static_cast<double>(c));
    return static_cast<_Float16>(sum);
  });
}

TEST(Arithmetic, BrainFloats) {
  const std::vector<std::uint16_t> a = numbers<std::uint16_t>(1), b = numbers<std::uint16_t>(2);
  const Library library(
      "extern \"C\" __global__ void k(const __bf16* a, const __bf16* b, __bf16* to) { const int i = blockIdx.x * 64 + "
      "threadIdx.x; to[i] = a[i] * b[i]; }");
  std::vector<std::uint16_t> to(kCount);
  library.run("k", {{kCount / 64, 1, 1}, {64, 1, 1}}, a.data(), b.data(), to.data());
  const auto widen = [](std::uint16_t x) {
    const std::uint32_t bits = static_cast<std::uint32_t>(x) << 16;
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
  };
  for (std::size_t i = 0; i < kCount; ++i) {
    const float product = widen(a[i]) * widen(b[i]), got = widen(to[i]);
    if (product != product) {
      EXPECT_TRUE(got != got);
      continue;
    }
    // No bfloat16 is nearer, and a tie has an even last bit.
    const double error = std::fabs(static_cast<double>(got) - static_cast<double>(product));
    for (const int step : {-1, 1}) {
      const float next = widen(static_cast<std::uint16_t>(to[i] + step));
      if (std::isinf(got) || !std::isfinite(next)) continue;
      const double other = std::fabs(static_cast<double>(next) - static_cast<double>(product));
      ASSERT_TRUE(error < other || (error == other && to[i] % 2 == 0)) << widen(a[i]) << " * " << widen(b[i]);
    }
  }
}

TEST(Arithmetic, PartsOfFloats) {
  same_bits<float>("float", "__builtin_amdgcn_frexp_mantf(a)", [](float a, float, float) {
    int e;
    return std::isfinite(a) ? std::frexp(a, &e) : a;
  });
  same_bits<float>("float", "(float)__builtin_amdgcn_frexp_expf(a)", [](float a, float, float) {
    int e = 0;
    if (std::isfinite(a)) std::frexp(a, &e);
    return static_cast<float>(e);
  });
  same_bits<double>("double", "__builtin_amdgcn_fract(a)", [](double a, double, double) {
    return std::isnan(a) ? a : std::min(a - std::floor(a), 0x1.fffffffffffffp-1);
  });
  same_bits<float>("float", "__builtin_amdgcn_ldexpf(a, 5)", [](float a, float, float) { return std::ldexp(a, 5); });
  same_bits<float>("float", "__builtin_amdgcn_classf(a, 0x90) ? 1.0f : 0.0f",
                   [](float a, float, float) { return std::fpclassify(a) == FP_SUBNORMAL ? 1.0f : 0.0f; });
  same_bits<float>("float", "__builtin_amdgcn_rcpf(a)", [](float a, float, float) { return 1 / a; });
}

TEST(Arithmetic, MinimaKnowTheSignOfZero) {
  const std::vector<float> a{-0.0f, 0.0f, NAN, 1.0f, -INFINITY}, b{0.0f, -0.0f, 2.0f, NAN, 3.0f};
  std::vector<float> x(kCount, 0), y(kCount, 0);
  std::copy(a.begin(), a.end(), x.begin());
  std::copy(b.begin(), b.end(), y.begin());
  const std::vector<float> least = run("float", "__builtin_fminf(a, b)", x, y, x),
                           most = run("float", "__builtin_fmaxf(a, b)", x, y, x);
  EXPECT_TRUE(std::signbit(least[0]) && std::signbit(least[1]));
  EXPECT_FALSE(std::signbit(most[0]) || std::signbit(most[1]));
  EXPECT_EQ(least[2], 2);
  EXPECT_EQ(most[3], 1);
  EXPECT_EQ(least[4], -INFINITY);
  const std::vector<float> middle = run("float", "__builtin_amdgcn_fmed3f(a, b, 0.5f)", x, y, x);
  EXPECT_EQ(middle[4], 0.5f);
}

// The device library's sine reduces large arguments by trig_preop.
TEST(Arithmetic, LargeAnglesAreReduced) {
  std::vector<double> x(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    x[i] = std::ldexp(1.0 + static_cast<double>(i) / 4096, static_cast<int>(i % 1000));
  const std::vector<double> y = run("double", "sin(a)", x, x, x);
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_NEAR(y[i], std::sin(x[i]), 4e-16) << x[i];
}

TEST(Arithmetic, Bits) {
  using U = std::uint32_t;
  same_bits<U>("unsigned", "__builtin_amdgcn_ubfe(a, b, c)", [](U a, U b, U c) {
    c &= 31;
    return c == 0 ? 0 : (a >> (b & 31)) & (0xFFFFFFFFu >> (32 - c));
  });
  same_bits<U>("unsigned", "__builtin_amdgcn_sbfe((int)a, 8, 8)",
               [](U a, U, U) { return static_cast<U>(static_cast<std::int8_t>(a >> 8)); });
  same_bits<U>("unsigned", "__builtin_amdgcn_perm(a, b, 0x07020C0D)",
               [](U a, U b, U) { return (a >> 24 << 24) | ((b >> 16 & 255) << 16) | 0xFF; });
  same_bits<U>("unsigned", "__builtin_amdgcn_alignbit(a, b, c)",
               [](U a, U b, U c) { return static_cast<U>(((std::uint64_t{a} << 32) | b) >> (c & 31)); });
  same_bits<U>("unsigned", "__builtin_amdgcn_alignbyte(a, b, c)",
               [](U a, U b, U c) { return static_cast<U>(((std::uint64_t{a} << 32) | b) >> (c % 4 * 8)); });
  same_bits<U>("unsigned", "__umul24(a, b)", [](U a, U b, U) { return (a & 0xFFFFFF) * (b & 0xFFFFFF); });
  same_bits<U>("unsigned", "__popc(a) + __clz(b) + __ffs(c)", [](U a, U b, U c) {
    return static_cast<U>(__builtin_popcount(a) + (b ? __builtin_clz(b) : 32) + __builtin_ffs(static_cast<int>(c)));
  });
  same_bits<U>("unsigned", "__brev(a) ^ __byte_perm(a, b, 0x5140)", [](U a, U b, U) {
    U reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (a >> i & 1) << (31 - i);
    return reversed ^ ((a & 255) | (b & 255) << 8 | (a & 0xFF00) << 8 | (b & 0xFF00) << 16);
  });
  same_bits<U>("unsigned", "__builtin_amdgcn_sdot4((int)a, (int)b, (int)c, false)", [](U a, U b, U c) {
    for (int i = 0; i < 32; i += 8)
      c += static_cast<U>(static_cast<std::int8_t>(a >> i) * static_cast<std::int8_t>(b >> i));
    return c;
  });
  same_bits<U>("unsigned", "__builtin_amdgcn_sad_u8(a, b, c)", [](U a, U b, U c) {
    for (int i = 0; i < 32; i += 8)
      c += static_cast<U>(std::abs(static_cast<int>(a >> i & 255) - static_cast<int>(b >> i & 255)));
    return c;
  });
}

}  // namespace
}  // namespace tern::gpu::amd
