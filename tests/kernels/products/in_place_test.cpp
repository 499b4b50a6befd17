// Products with weights as they lie against sums in double: every size of a last strip and panel, rows that lie apart,
// weights of narrower types, and each instruction set that this processor has.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "dtypes/convert.h"
#include "dtypes/cpu_features.h"
#include "kernels/cpu/products/float32/in_place_driver.h"
#include "kernels/cpu/products/float32/in_place_microkernel.h"
#include "tests/random_floats.h"

namespace tern {
namespace {

using test::random_floats;

double sum_of(const float* x, const float* w, std::int64_t k, double* size) {
  double sum = 0;
  for (std::int64_t p = 0; p < k; ++p) {
    const double product = static_cast<double>(x[p]) * static_cast<double>(w[p]);
    sum += product;
    *size += std::abs(product);
  }
  return sum;
}

/// Expects an error of at most k roundings.
void expect_sum(double got, const float* x, const float* w, std::int64_t k, double plus, const char* what) {
  double size = std::abs(plus);
  const double sum = sum_of(x, w, k, &size) + plus;
  ASSERT_NEAR(got, sum, size * std::ldexp(static_cast<double>(k + 2), -24)) << what;
}

/// Converts `v` to another type, and rounds `v` to the converted values.
std::vector<std::byte> narrowed(std::vector<float>& v, DType type) {
  const auto count = static_cast<std::int64_t>(v.size());
  if (is_integral(type)) {  // scales fractions to most of the integer range
    for (float& x : v) x *= type == DType::u8 ? 255.0F : 127.0F;
    if (type == DType::u8) std::ranges::for_each(v, [](float& x) { x = std::abs(x); });
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(run_bytes(type, count)));
  convert(v.data(), DType::f32, bytes.data(), type, count);
  convert(bytes.data(), type, v.data(), DType::f32, count);
  return bytes;
}

constexpr float kInPlaceUntouched = 12345;

void expect_products(const LinearShape& s, const std::vector<float>& x, const std::vector<float>& w, const float* bias,
                     const std::vector<float>& y) {
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      const double plus = bias != nullptr ? static_cast<double>(bias[j]) : 0;
      expect_sum(static_cast<double>(y[static_cast<std::size_t>(i * s.n + j)]), x.data() + i * s.x_row,
                 w.data() + j * s.w_row, s.k, plus, "of a product");
      if (::testing::Test::HasFatalFailure()) {
        FAIL() << s.m << "x" << s.n << "x" << s.k << " at " << i << ", " << j;
      }
    }
  }
  for (std::size_t i = static_cast<std::size_t>(s.m * s.n); i < y.size(); ++i) ASSERT_EQ(y[i], kInPlaceUntouched);
}

void multiply(const LinearShape& s, bool with_bias, DType type = DType::f32) {
  const std::vector<float> x = random_floats(s.m * s.x_row, 1), bias = random_floats(s.n, 3);
  std::vector<float> w = random_floats(s.n * s.w_row, 2);
  const std::vector<std::byte> weight = narrowed(w, type);
  std::vector<float> y(static_cast<std::size_t>(s.m * s.n) + 16, kInPlaceUntouched);
  linear(s, {x.data(), weight.data(), with_bias ? bias.data() : nullptr, y.data(), {}, type});
  expect_products(s, x, w, with_bias ? bias.data() : nullptr, y);
}

TEST(Linear, EverySizeOfALastPanelAndStrip) {
  for (std::int64_t m = 1; m <= 42; ++m) {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 12, 13, 24, 29}) multiply({m, n, 19, 19, 19}, m % 2 == 0);
  }
}

TEST(Linear, RowsThatLieApart) {
  for (const std::int64_t m : {1, 2, 3, 5, 8, 9, 17, 40}) {
    for (const std::int64_t k : {1, 2, 3, 4, 15, 16, 31, 33, 64, 257}) multiply({m, 30, k, k + 5, k + 3}, true);
  }
}

TEST(Linear, ManyRowsAndLongOnes) {
  multiply({300, 37, 40, 40, 40}, true);       // more than are taken at a time
  multiply({9, 25, 2000, 2000, 2048}, true);   // rows that collide in the cache
  multiply({70, 13, 5000, 5000, 5000}, true);  // several parts of the sums
  multiply({129, 3, 33, 33, 33}, false);       // threads share panels
}

TEST(Linear, NarrowWeights) {
  for (const DType type : {DType::f16, DType::bf16, DType::f8_e4m3fn, DType::f8_e5m2, DType::f8_e4m3fnuz,
                           DType::f6_e2m3, DType::i8, DType::u8}) {
    for (const std::int64_t m : {1, 2, 3, 4, 8, 9, 17, 40, 300}) {
      multiply({m, 30, 70, 75, 73}, true, type);
      multiply({m, 99, 64, 64, 64}, false, type);  // exceeds the strips widened together
    }
    multiply({3, 5, 1100, 1100, 1101}, true, type);
    multiply({33, 25, 1100, 1100, 1024 + 100}, true, type);  // several depths
  }
}

TEST(Linear, OneRowAndAWeightFromMemory) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3fn, DType::f8_e5m2, DType::f8_e4m3fnuz,
                           DType::i8, DType::u8})
    multiply({1, 3001, 1109, 1110, 1111}, true, type);
}

TEST(Linear, EveryNumberOfANarrowType) {
  // Multiplies by one, for infinities and subnormal values too.
  for (const DType type : {DType::f16, DType::bf16}) {
    std::vector<std::uint16_t> all(1 << 16);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    std::vector<float> want(all.size());
    convert(all.data(), type, want.data(), DType::f32, 1 << 16);
    for (const std::int64_t m : {1, 9}) {
      const std::vector<float> x(static_cast<std::size_t>(m), 1.0F);
      std::vector<float> y(static_cast<std::size_t>(m) << 16);
      linear({m, 1 << 16, 1, 1, 1}, {x.data(), all.data(), nullptr, y.data(), {}, type});
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (std::isnan(want[i])) {
          EXPECT_TRUE(std::isnan(y[i])) << i;
        } else {
          EXPECT_EQ(want[i], y[i]) << i;
        }
      }
    }
  }
}

TEST(Linear, Bfloat16WhereTheProcessorMultipliesIt) {
  if (in_place_product::pair_kernels() == nullptr) GTEST_SKIP() << "no AVX512_BF16";
  for (const std::int64_t m : {1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 33, 64, 65, 300}) {
    for (const std::int64_t k : {2, 4, 30, 32, 514, 3000}) {
      const std::int64_t n = m == 1 && k == 3000 ? 801 : 29;  // a weight of megabytes is streamed
      const LinearShape s{m, n, k, k + 2, k + 6};
      ASSERT_TRUE(multiplies_bf16(s));
      std::vector<float> x = random_floats(s.m * s.x_row, 1), w = random_floats(s.n * s.w_row, 2);
      const std::vector<float> bias = random_floats(s.n, 3);
      const std::vector<std::byte> narrow_x = narrowed(x, DType::bf16), narrow_w = narrowed(w, DType::bf16);
      std::vector<float> y(static_cast<std::size_t>(s.m * s.n) + 16, kInPlaceUntouched);
      linear(s, Bf16Operands{reinterpret_cast<const BFloat16*>(narrow_x.data()),
                             reinterpret_cast<const BFloat16*>(narrow_w.data()), bias.data(), y.data()});
      expect_products(s, x, w, bias.data(), y);
    }
  }
  EXPECT_FALSE(multiplies_bf16({9, 4, 3, 4, 4}));
  EXPECT_FALSE(multiplies_bf16({9, 4, 4, 5, 4}));
  EXPECT_FALSE(multiplies_bf16({9, 4, 4, 4, 5}));
}

TEST(Linear, TheSameBitsForAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  // Threads share columns; or rows with sums in several parts; or columns that each read two streams.
  for (const LinearShape& s : {LinearShape{50, 200, 300, 300, 300}, LinearShape{200, 30, 3000, 3000, 3000},
                               LinearShape{1, 1003, 1500, 1500, 1500}}) {
    const std::vector<float> x = random_floats(s.m * s.k, 1), w = random_floats(s.n * s.k, 2);
    std::vector<float> first;
    for (const int threads : {1, 2, 3, 5}) {
      omp_set_num_threads(threads);
      std::vector<float> y(static_cast<std::size_t>(s.m * s.n));
      linear(s, {x.data(), w.data(), nullptr, y.data(), {}});
      if (first.empty()) first = y;
      EXPECT_EQ(y, first) << threads << " threads";
    }
  }
  omp_set_num_threads(before);
}

TEST(Linear, InfinitiesStayWhereTheyAre) {
  // Lanes of a panel without a row of x are multiplied, too.
  const LinearShape s{9, 12, 16, 16, 16};
  std::vector<float> x = random_floats(s.m * s.k, 1), w = random_floats(s.n * s.k, 2);
  w[16 * 5] = std::numeric_limits<float>::infinity();
  std::vector<float> y(static_cast<std::size_t>(s.m * s.n));
  linear(s, {x.data(), w.data(), nullptr, y.data(), {}});
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isinf(y[i]), i % 12 == 5) << i;
}

/// Sums of random numbers, then every value of the type by itself.
template <class W>
void expect_dots(int rows, const in_place_product::FourDots<W>* dots, DType type) {
  constexpr std::int64_t kDepth = 300;
  const std::vector<float> x = random_floats(in_place_product::kMostDotRows * kDepth, 1);
  std::vector<float> w = random_floats(4 * kDepth, 2);
  const std::vector<std::byte> narrow = narrowed(w, type);
  for (int count = 1; count <= rows; ++count) {
    float sums[4 * in_place_product::kMostDotRows];
    dots[count - 1](x.data(), kDepth, reinterpret_cast<const W*>(narrow.data()), kDepth, kDepth, sums);
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < 4; ++j)
        expect_sum(static_cast<double>(sums[i * 4 + j]), x.data() + i * kDepth, w.data() + j * kDepth, kDepth, 0,
                   "of narrow dot products");
    }
  }
  constexpr int kLanes = 32;
  using Bits = std::conditional_t<sizeof(W) == 1, std::uint8_t, std::uint16_t>;
  for (std::uint32_t bits = 0; bits < 1u << 8 * sizeof(W); bits += 4) {
    Bits four[4][kLanes] = {};
    float want[4], ones[kLanes] = {}, sums[4];
    ones[bits / 4 % kLanes] = 1;
    for (std::uint32_t j = 0; j < 4; ++j) four[j][bits / 4 % kLanes] = static_cast<Bits>(bits + j);
    for (std::uint32_t j = 0; j < 4; ++j) convert(&four[j][bits / 4 % kLanes], type, want + j, DType::f32, 1);
    dots[0](ones, kLanes, reinterpret_cast<const W*>(four), kLanes, kLanes, sums);
    for (std::uint32_t j = 0; j < 4; ++j) {
      if (std::isnan(want[j])) {
        EXPECT_TRUE(std::isnan(sums[j])) << bits + j;
      } else {
        EXPECT_EQ(want[j], sums[j]) << bits + j;
      }
    }
  }
}

/// Every value of the type, in runs that end anywhere in a register.
template <class W>
void expect_widened(in_place_product::Widen<W> widen, DType type) {
  ASSERT_NE(widen, nullptr);
  std::vector<std::uint8_t> all(256 + 37);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint8_t>(i);
  for (const std::int64_t count : {1, 15, 256, 293}) {
    std::vector<float> want(all.size(), kInPlaceUntouched), got = want;
    convert(all.data(), type, want.data(), DType::f32, count);
    widen(reinterpret_cast<const W*>(all.data()), count, got.data());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::isnan(want[i])) {
        EXPECT_TRUE(std::isnan(got[i])) << i;
      } else {
        EXPECT_EQ(want[i], got[i]) << i;
      }
    }
  }
}

/// Two rows at the start of w, and two more further on.
template <class W>
void expect_streams(in_place_product::TwoStreams<W> streams, DType type) {
  for (const std::int64_t depth : {3, 16, 300, 2048}) {
    const std::vector<float> x = random_floats(depth, 1);
    std::vector<float> w = random_floats(9 * depth, 2);
    const std::vector<std::byte> bytes = narrowed(w, type);
    const auto* at = reinterpret_cast<const W*>(bytes.data());
    float sums[4];
    streams(x.data(), at, at + 7 * depth, depth, depth, 1024, sums);
    for (const int row : {0, 1, 7, 8})
      expect_sum(static_cast<double>(sums[row % 7 + row / 7 * 2]), x.data(), w.data() + row * depth, depth, 0,
                 "of two streams");
  }
}

template <class W>
void expect_bytes(int rows, const in_place_product::WeightLoops<W>& loops, DType type) {
  expect_dots(rows, loops.dots, type);
  expect_streams(loops.streams, type);
  expect_widened(loops.widen, type);
}

TEST(Linear, EveryInstructionSet) {
  using namespace in_place_product;
  std::vector<MicroKernels> all;
  for_each_level(set_levels, [&](auto set) { set(&all.emplace_back()); });
  constexpr std::int64_t kDepth = 300;
  const std::vector<float> x = random_floats(kMostWidth * kDepth, 1), w = random_floats(kMostRows * kDepth, 2);
  for (const MicroKernels& kernels : all) {
    for (int kind = 0; kind < 3 && kernels.widths[kind] > 0; ++kind) {
      const int width = kernels.widths[kind];
      std::vector<float> panel(static_cast<std::size_t>(width * kDepth)), tile(kMostRows * kMostWidth);
      for (int rows = 1; rows <= kernels.rows; ++rows) {
        const int count = std::max(1, width - rows % 4);
        kernels.pack(x.data(), kDepth, count, kDepth, width, panel.data());
        kernels.tile[kind][rows - 1](w.data(), kDepth, panel.data(), kDepth, tile.data());
        const std::vector<float> bias(kMostRows, 0.5F);
        std::vector<float> y(static_cast<std::size_t>(count * rows)), block(kMostWidth * kBlockRow);
        kernels.transpose(tile.data(), width, rows, block.data());
        kernels.store(block.data(), count, rows, bias.data(), y.data(), rows);
        kernels.store(block.data(), count, rows, nullptr, y.data(), rows);
        for (int i = 0; i < count; ++i) {
          for (int j = 0; j < rows; ++j)
            expect_sum(static_cast<double>(y.data()[i * rows + j]) / 2, x.data() + i * kDepth, w.data() + j * kDepth,
                       kDepth, 0.25, "of a tile");
        }
      }
    }
    for (int rows = 1; rows <= kernels.dot_rows; ++rows) {
      float sums[4 * kMostDotRows];
      kernels.f32.dots[rows - 1](x.data(), kDepth, w.data(), kDepth, kDepth, sums);
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < 4; ++j)
          expect_sum(static_cast<double>(sums[i * 4 + j]), x.data() + i * kDepth, w.data() + j * kDepth, kDepth, 0,
                     "of dot products");
      }
    }
    expect_dots(kernels.dot_rows, kernels.f16.dots, DType::f16);
    expect_dots(kernels.dot_rows, kernels.bf16.dots, DType::bf16);
    expect_streams(kernels.f32.streams, DType::f32);
    expect_streams(kernels.f16.streams, DType::f16);
    expect_streams(kernels.bf16.streams, DType::bf16);
    expect_bytes(kernels.dot_rows, kernels.i8, DType::i8);
    expect_bytes(kernels.dot_rows, kernels.u8, DType::u8);
    expect_bytes(kernels.dot_rows, kernels.f8_e4m3fn, DType::f8_e4m3fn);
    expect_bytes(kernels.dot_rows, kernels.f8_e5m2, DType::f8_e5m2);
  }
}

}  // namespace
}  // namespace tern
