// Products of a warp against products of doubles. Where a lane holds an element is from the figures of "Matrix
// Fragments for mma" in the PTX ISA.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>

#include "tests/gpu/ptx/tests/launcher.h"

namespace tern::emulated {
namespace {

std::uint16_t half_bits(float x) {
  const auto half = static_cast<_Float16>(x);
  std::uint16_t bits;
  std::memcpy(&bits, &half, 2);
  return bits;
}

std::uint16_t brain_bits(float x) {  // exact numbers only
  std::uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<std::uint16_t>(bits >> 16);
}

// Values of 7 bits, exact in every format; sums of their products need 24 bits.
float element(int row, int column) {
  return std::ldexp(static_cast<float>((row * 37 + column * 101) % 127 - 63), (row + column) % 7 - 3);
}

constexpr int kM = 16, kN = 8, kK = 16;

// a: row by row; b: column by column ("col"); c and d: row by row.
struct Product {
  alignas(16) std::uint16_t a[kM * kK], b[kN * kK];
  std::vector<float> c = std::vector<float>(kM * kN), d = c;
  std::vector<double> expected = std::vector<double>(kM * kN), size = expected;

  explicit Product(std::uint16_t (*bits)(float)) {
    for (int i = 0; i < kM * kK; ++i) a[i] = bits(element(i / kK, i % kK));
    for (int i = 0; i < kN * kK; ++i) b[i] = bits(element(i % kK + 40, i / kK));
    for (int i = 0; i < kM * kN; ++i) {
      c[i] = static_cast<float>(i) / 8;
      expected[i] = size[i] = static_cast<double>(c[i]);
      for (int k = 0; k < kK; ++k) {
        const double one = static_cast<double>(element(i / kN, k)) * static_cast<double>(element(k + 40, i % kN));
        expected[i] += one;
        size[i] += std::fabs(one);
      }
    }
  }

  void check() const {
    for (int i = 0; i < kM * kN; ++i) {
      EXPECT_NEAR(static_cast<double>(d[i]), expected[i], size[i] * std::ldexp(1.0, -22)) << i / kN << ", " << i % kN;
    }
  }
};

// load: fills the registers a[4] and b[2] from memory or from the shared copies ta, tb (its rows are b's columns) and
// tk (its rows are b's rows).
std::string text(const std::string& type, const std::string& load) {
  return R"(extern "C" __global__ void k(const unsigned short* pa, const unsigned short* pb, const float* c, float* d) {
    __shared__ __align__(16) unsigned short ta[16][16], tb[8][16], tk[16][8];
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    for (int i = lane; i < 256; i += 32) ta[i / 16][i % 16] = pa[i];
    for (int i = lane; i < 128; i += 32) tb[i / 16][i % 16] = tk[i % 16][i / 16] = pb[i];
    __syncthreads();
    unsigned a[4], b[2];
    float s[4];
    for (int i = 0; i < 4; ++i) s[i] = c[(g + i / 2 * 8) * 8 + t * 2 + i % 2];
    )" + load +
         R"(
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.)" +
         type + "." + type + R"(.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = s[i];
  })";
}

// "row = groupID for ai where 0 <= i < 2 || 4 <= i < 6, groupID + 8 otherwise; col = (threadID_in_group * 2) + (i &
// 0x1) for ai where i < 4, + 8 for i >= 4"; of b the rows likewise, and "col = groupID".
constexpr char kFromMemory[] = R"(
  for (int i = 0; i < 4; ++i) a[i] = *(const unsigned*)(pa + (g + i % 2 * 8) * 16 + t * 2 + i / 2 * 8);
  for (int i = 0; i < 2; ++i) b[i] = *(const unsigned*)(pb + g * 16 + t * 2 + i * 8);)";

constexpr char kByMatrices[] = R"(
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
    : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
    : "r"((unsigned)__cvta_generic_to_shared(&ta[lane % 16][lane / 16 * 8])));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(b[0]), "=r"(b[1])
    : "r"((unsigned)__cvta_generic_to_shared(&tb[lane % 8][lane / 8 % 2 * 8])));)";

constexpr char kTransposed[] = R"(
  for (int i = 0; i < 4; ++i)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a[i])
      : "r"((unsigned)__cvta_generic_to_shared(&ta[lane % 8 + i % 2 * 8][i / 2 * 8])));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(b[0]), "=r"(b[1])
    : "r"((unsigned)__cvta_generic_to_shared(&tk[lane % 16][0])));)";

TEST(Matrices, ProductsOfHalvesAndBrainFloats) {
  for (const char* load : {kFromMemory, kByMatrices, kTransposed}) {
    for (const bool half : {true, false}) {
      SCOPED_TRACE(std::string(half ? "f16" : "bf16") + load);
      Product product(half ? half_bits : brain_bits);
      Kernels(text(half ? "f16" : "bf16", load))
          .run("k", {}, &product.a[0], &product.b[0], product.c.data(), product.d.data());
      product.check();
    }
  }
}

// m16n8k32 with a sparse a. Kept elements lie like those of m16n8k16: "firstcol = threadID_in_group * 4 for i < 4, + 16
// for i >= 4". Of the places the first thread of a pair has columns 0 to 15, the second 16 to 31, of the rows g (low
// half) and g + 8; threads that the selector leaves out have no places at all here.
std::string sparse_text(const std::string& operation, const std::string& type, int selector) {
  const std::string chosen = std::to_string(selector);
  return R"(extern "C" __global__ void k(const unsigned short* pa, const unsigned short* places, const unsigned short* pb,
                                         const float* c, float* d) {
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned a[4], b[4], e = 0;
    float s[4];
    for (int i = 0; i < 4; ++i) s[i] = c[(g + i / 2 * 8) * 8 + t * 2 + i % 2];
    for (int i = 0; i < 4; ++i) a[i] = *(const unsigned*)(pa + (g + i % 2 * 8) * 16 + t * 2 + i / 2 * 8);
    for (int i = 0; i < 4; ++i) b[i] = *(const unsigned*)(pb + g * 32 + t * 2 + i * 8);
    if (t / 2 == )" +
         chosen + R"() e = places[g * 2 + t % 2] | (unsigned)places[(g + 8) * 2 + t % 2] << 16;
    asm volatile(")" +
         operation + ".sync.aligned.m16n8k32.row.col.f32." + type + "." + type + R"(.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, )" +
         chosen + R"(;"
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(e));
    for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = s[i];
  })";
}

constexpr int kPairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

// a: 16 rows of 16 kept elements, with their places; b: 8 columns of 32.
struct SparseProduct {
  alignas(16) std::uint16_t a[kM * 16], places[kM * 2] = {}, b[kN * 32];
  std::vector<float> c = std::vector<float>(kM * kN), d = c;

  explicit SparseProduct(std::uint16_t (*bits)(float)) {
    for (int i = 0; i < kM * 16; ++i) a[i] = bits(element(i / 16, i % 16));
    for (int i = 0; i < kN * 32; ++i) b[i] = bits(element(i % 32 + 40, i / 32));
    for (int row = 0; row < kM; ++row) {
      for (int n = 0; n < 16; ++n) places[row * 2 + n / 8] |= static_cast<std::uint16_t>(place(row, n) << (n % 8 * 2));
    }
    for (int i = 0; i < kM * kN; ++i) c[i] = static_cast<float>(i) / 8;
  }
  static int place(int row, int n) { return kPairs[(row * 5 + n / 2 * 7) % 6][n % 2]; }

  void check() const {
    for (int i = 0; i < kM * kN; ++i) {
      double sum = static_cast<double>(c[i]), size = sum;
      for (int n = 0; n < 16; ++n) {
        const int k = n / 2 * 4 + place(i / kN, n);
        const double one = static_cast<double>(element(i / kN, n)) * static_cast<double>(element(k + 40, i % kN));
        sum += one;
        size += std::fabs(one);
      }
      EXPECT_NEAR(static_cast<double>(d[i]), sum, size * std::ldexp(1.0, -22)) << i / kN << ", " << i % kN;
    }
  }
};

TEST(Matrices, ProductsOfASparseOperand) {
  for (const char* operation : {"mma.sp", "mma.sp::ordered_metadata"}) {
    for (const bool half : {true, false}) {
      for (const int selector : {0, 1}) {
        SCOPED_TRACE(std::string(operation) + (half ? " of f16, selector " : " of bf16, selector ") +
                     std::to_string(selector));
        SparseProduct product(half ? half_bits : brain_bits);
        Kernels(sparse_text(operation, half ? "f16" : "bf16", selector))
            .run("k", {}, &product.a[0], &product.places[0], &product.b[0], product.c.data(), product.d.data());
        product.check();
      }
    }
  }
}

TEST(MatricesDeathTest, SparsePlacesOfUndefinedBehaviorTrap) {
  SparseProduct product(half_bits);
  const auto run = [&](const char* operation, int block, int two) {
    SparseProduct wrong = product;
    std::uint16_t& word = wrong.places[7];
    word = static_cast<std::uint16_t>((word & ~(15 << 4 * block)) | two << 4 * block);
    const Kernels kernels(sparse_text(operation, "f16", 0));
    kernels.run("k", {}, &wrong.a[0], &wrong.places[0], &wrong.b[0], wrong.c.data(), wrong.d.data());
  };
  EXPECT_DEATH(run("mma.sp", 2, 0b1010), "two elements at one place");
  EXPECT_DEATH(run("mma.sp::ordered_metadata", 3, 0b0001), "do not ascend");
}

TEST(Matrices, ProductsOfBytes) {
  // m16n8k32: "row = groupID for 0 <= i < 4 || 8 <= i < 12; col = (threadID_in_group * 4) + (i & 0x3), + 16 for i >= 8"
  const Kernels kernels(R"(extern "C" __global__ void k(const signed char* pa, const unsigned char* pb, int* d) {
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned a[4], b[2];
    int s[4] = {0, 1, 2, 3};
    for (int i = 0; i < 4; ++i) a[i] = *(const unsigned*)(pa + (g + i % 2 * 8) * 32 + t * 4 + i / 2 * 16);
    for (int i = 0; i < 2; ++i) b[i] = *(const unsigned*)(pb + g * 32 + t * 4 + i * 16);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
      : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = s[i];
  })");
  alignas(4) std::int8_t a[16 * 32];
  alignas(4) std::uint8_t b[8 * 32];
  for (int i = 0; i < 16 * 32; ++i) a[i] = static_cast<std::int8_t>(i * 59);
  for (int i = 0; i < 8 * 32; ++i) b[i] = static_cast<std::uint8_t>(i * 83);
  std::vector<int> d(128);
  kernels.run("k", {}, &a[0], &b[0], d.data());
  for (int i = 0; i < 128; ++i) {
    int sum = i / 8 / 8 * 2 + i % 2;
    for (int k = 0; k < 32; ++k) sum += a[i / 8 * 32 + k] * b[i % 8 * 32 + k];
    EXPECT_EQ(d[i], sum) << i;
  }
}

TEST(Matrices, ProductsOfDoubles) {
  // m8n8k4: a: row = groupID, col = threadID_in_group; b: the other way round
  const Kernels kernels(R"(extern "C" __global__ void k(const double* a, const double* b, double* d) {
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    double s[2] = {0.5, 0.25};
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(s[0]), "+d"(s[1]) : "d"(a[g * 4 + t]), "d"(b[t * 8 + g]));
    for (int i = 0; i < 2; ++i) d[g * 8 + t * 2 + i] = s[i];
  })");
  std::vector<double> a(32), b(32), d(64);
  for (int i = 0; i < 32; ++i) a[i] = i - 13, b[i] = (i * i) % 29;
  kernels.run("k", {}, a.data(), b.data(), d.data());
  for (int i = 0; i < 64; ++i) {
    double sum = i % 2 ? 0.25 : 0.5;
    for (int k = 0; k < 4; ++k) sum += a[i / 8 * 4 + k] * b[k * 8 + i % 8];
    EXPECT_EQ(d[i], sum) << i;
  }
}

}  // namespace
}  // namespace tern::emulated
