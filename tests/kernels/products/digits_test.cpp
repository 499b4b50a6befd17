// Dot products of numbers in three digits with bytes and nibbles, on all instruction sets, against sums in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "dtypes/convert.h"
#include "kernels/cpu/products/block_quantized/byte_microkernel.h"
#include "kernels/cpu/products/block_quantized/driver.h"
#include "kernels/cpu/products/block_quantized/nibble_microkernel.h"
#include "tests/kernels/quantized_value.h"
#include "threads/threads.h"

namespace tern::block_quantized {
namespace {

constexpr std::ptrdiff_t kDigitRows = 6;  // two places of three rows, of which the last is repeated

std::vector<float> numbers_of_sizes(std::ptrdiff_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& v : x) v = std::ldexp(values(random), static_cast<int>(random() % 9) - 4);
  return x;
}

float largest(const std::vector<float>& x) {
  float most = 0;
  for (const float v : x) most = std::max(most, std::abs(v));
  return most;
}

/// A sum, and the error that it may have: half a unit of 22 bits of the largest x for each of its products, and the
/// rounding of float sums.
struct ExpectedSum {
  double sum = 0, error = 0;
  void add(float x, double w, float most) {
    sum += static_cast<double>(x) * w;
    error += static_cast<double>(most) * std::abs(w) * 0x1p-21;
  }
};

TEST(Digits, BytesAtAllLevels) {
  int levels = 0;
  for_each_level(set_byte_loops_levels, [&](auto set) {
    ++levels;
    ByteLoops loops;
    set(&loops);
    for (const std::ptrdiff_t columns : {1, 3, 15, 16, 17, 63, 64, 65, 100, 255, 256, 257, 300, 1000}) {
      for (const bool is_signed : {false, true}) {
        for (const bool extreme : {false, true}) {
          const std::vector<float> x = numbers_of_sizes(columns, static_cast<unsigned>(columns));
          std::mt19937 random(7);
          std::vector<std::uint8_t> w(static_cast<std::size_t>(kDigitRows * columns));
          for (auto& b : w) b = static_cast<std::uint8_t>(extreme ? (is_signed ? 0x80 : 0xff) : random());
          std::vector<ByteSteps> steps(static_cast<std::size_t>((columns + 255) / 256));
          ASSERT_TRUE(loops.arrange(x.data(), columns, is_signed, steps.data()));
          float sums[8];
          loops.dots({.x = steps.data(),
                      .is_signed = is_signed,
                      .elements = w.data(),
                      .columns = columns,
                      .first = 0,
                      .second = 3,
                      .count = 4,
                      .last = kDigitRows - 1},
                     sums);
          for (std::ptrdiff_t i = 0; i < 8; ++i) {
            const std::ptrdiff_t row = std::min(i < 4 ? i : 3 + i - 4, kDigitRows - 1);
            ExpectedSum expected;
            for (std::ptrdiff_t k = 0; k < columns; ++k) {
              const std::uint8_t byte = w[static_cast<std::size_t>(row * columns + k)];
              expected.add(x[static_cast<std::size_t>(k)], is_signed ? static_cast<std::int8_t>(byte) : byte,
                           largest(x));
            }
            ASSERT_NEAR(sums[i], expected.sum, expected.error) << columns << ' ' << is_signed << ", row " << row;
          }
        }
      }
    }
  });
  if (levels == 0) GTEST_SKIP() << "no loops for bytes here";
}

TEST(Digits, SayWhichNumbersTheyDoNotTake) {
  const auto bytes = [](const std::vector<float>& x) {
    std::vector<ByteSteps> steps((x.size() + 255) / 256);
    return byte_loops()->arrange(x.data(), std::ssize(x), true, steps.data());
  };
  const auto nibbles = [](const std::vector<float>& x) {
    std::vector<NibbleStep> steps((x.size() + 127) / 128);
    const QuantizedMatrix m{DType::i4, 1, 128, {.columns = 32}};
    return nibble_loops()->arrange(x.data(), std::ssize(x), *nibble_type(m), steps.data());
  };
  const float infinity = std::numeric_limits<float>::infinity();
  const auto check = [&](const auto& takes) {
    for (const std::size_t place : {0, 5, 129, 299}) {
      for (const float strange : {infinity, -infinity, std::nanf("")}) {
        std::vector<float> x(300, 1.0F);
        EXPECT_TRUE(takes(x));
        x[place] = strange;
        EXPECT_FALSE(takes(x)) << place << ' ' << strange;
      }
    }
    EXPECT_TRUE(takes(std::vector<float>(300, 0.0F)));
    EXPECT_TRUE(takes(std::vector<float>(300, -0.0F)));
    EXPECT_TRUE(takes(std::vector<float>(300, std::numeric_limits<float>::max())));
    EXPECT_FALSE(takes(std::vector<float>(300, 0x1p-120F)));
  };
  if (byte_loops() != nullptr) check(bytes);
  if (nibble_loops() != nullptr) check(nibbles);
  if (byte_loops() == nullptr && nibble_loops() == nullptr) GTEST_SKIP() << "no loops for digits here";
}

struct NibbleCase {
  std::ptrdiff_t columns, block;
  DType element, scale;
};

void check_nibbles(const NibbleLoops& loops, const NibbleCase& c) {
  const QuantizedMatrix m{c.element, kDigitRows, c.columns, {.columns = static_cast<std::int32_t>(c.block)}};
  const NibbleType& type = *nibble_type(m);
  const std::ptrdiff_t row_bytes = (c.columns + 1) / 2, blocks = (c.columns + c.block - 1) / c.block,
                       steps = (c.columns + 127) / 128;
  std::mt19937 random(static_cast<unsigned>(c.columns));
  std::vector<std::uint8_t> w(static_cast<std::size_t>(kDigitRows * row_bytes));
  for (auto& b : w) b = static_cast<std::uint8_t>(random());
  std::vector<float> scales(static_cast<std::size_t>(kDigitRows * blocks));
  for (float& s : scales) s = std::ldexp(1.0F, static_cast<int>(random() % 7) - 3);  // exact in all types
  const std::int64_t size = element_size(c.scale);
  std::vector<std::byte> stored(scales.size() * static_cast<std::size_t>(size));
  convert(scales.data(), DType::f32, stored.data(), c.scale, std::ssize(scales));
  const std::ptrdiff_t x_rows = NibbleLoops::takes_several(c.scale, c.block) ? NibbleRows::kTogether : 1;
  const std::vector<float> x = numbers_of_sizes(x_rows * c.columns, 3);
  std::vector<NibbleStep> arranged(static_cast<std::size_t>(x_rows * steps));
  for (std::ptrdiff_t i = 0; i < x_rows; ++i)
    ASSERT_TRUE(loops.arrange(x.data() + i * c.columns, c.columns, type, arranged.data() + i * steps));
  NibbleRows rows{.x = arranged.data(),
                  .x_rows = x_rows,
                  .x_row = steps,
                  .type = &type,
                  .elements = w.data(),
                  .row_bytes = row_bytes,
                  .columns = c.columns,
                  .block = c.block,
                  .first = 0,
                  .second = 3,
                  .count = 4,
                  .last = kDigitRows - 1,
                  .scale_bytes = blocks * size,
                  .scale = c.scale};
  rows.scales[0] = stored.data();
  rows.scales[1] = stored.data() + 3 * rows.scale_bytes;
  float sums[8 * NibbleRows::kTogether];
  loops.dots(rows, sums);
  for (std::ptrdiff_t q = 0; q < x_rows; ++q) {
    rows.x = arranged.data() + q * steps;
    rows.x_rows = 1;
    float alone[8];
    loops.dots(rows, alone);
    const std::vector<float> numbers(x.begin() + q * c.columns, x.begin() + (q + 1) * c.columns);
    for (std::ptrdiff_t i = 0; i < 8; ++i) {
      ASSERT_EQ(alone[i], sums[8 * q + i]) << "bits depend on the rows of x";
      const std::ptrdiff_t row = std::min(i < 4 ? i : 3 + i - 4, kDigitRows - 1);
      ExpectedSum expected;
      for (std::ptrdiff_t k = 0; k < c.columns; ++k) {
        const std::uint8_t code = w[static_cast<std::size_t>(row * row_bytes + k / 2)] >> (k % 2 * 4) & 15;
        const float scale = scales[static_cast<std::size_t>(row * blocks + k / c.block)];
        expected.add(numbers[static_cast<std::size_t>(k)],
                     (static_cast<double>(type.integers[code]) - type.offset) * static_cast<double>(type.unit * scale),
                     largest(numbers));
      }
      ASSERT_NEAR(alone[i], expected.sum, expected.error)
          << name_of(c.element) << ", " << c.columns << " columns, blocks of " << c.block << ", scales "
          << name_of(c.scale) << ", row " << row;
    }
  }
}

TEST(Digits, NibblesAtAllLevels) {
  int levels = 0;
  for_each_level(set_nibble_loops_levels, [&](auto set) {
    ++levels;
    NibbleLoops loops;
    set(&loops);
    for (const DType element : {DType::i4, DType::f4_e2m1}) {
      for (const std::ptrdiff_t columns : {16, 32, 48, 64, 80, 128, 144, 256, 400, 1024}) {
        if (columns % 16 == 0) check_nibbles(loops, {columns, 16, element, DType::f32});
        if (columns % 64 == 0) check_nibbles(loops, {columns, 64, element, DType::f32});
        if (columns % 256 == 0) check_nibbles(loops, {columns, 256, element, DType::f32});
        if (columns % 32 != 0) continue;
        for (const DType scale : {DType::f32, DType::bf16, DType::f16, DType::f8_e8m0})
          ASSERT_NO_FATAL_FAILURE(check_nibbles(loops, {columns, 32, element, scale}));
      }
      for (const std::ptrdiff_t columns : {1, 2, 31, 33, 100, 127, 129, 300})
        ASSERT_NO_FATAL_FAILURE(check_nibbles(loops, {columns, columns, element, DType::f32}));
    }
    std::vector<std::byte> scales(100, std::byte{1});
    EXPECT_TRUE(loops.normal(scales.data(), 100));
    for (const int strange : {0, 255}) {
      scales[70] = static_cast<std::byte>(strange);
      EXPECT_FALSE(loops.normal(scales.data(), 100));
    }
  });
  if (levels == 0) GTEST_SKIP() << "no loops for nibbles here";
}

/// Few rows by matrices of all formats, in digits or in floats.
TEST(Digits, ProductsOfFewRows) {
  const ThreadScope alone{Threads(1)};
  constexpr std::int64_t kRows = 9, kColumns = 320;
  for (test::Format f : test::kFormats) {
    if (f.blocks.columns == test::kRow) f.blocks.columns = kColumns;
    const QuantizedMatrix m{f.element, kRows, kColumns, f.blocks};
    const std::vector<std::byte> bytes = test::random_value(m, 11);
    std::vector<std::vector<float>> weight(kRows, std::vector<float>(kColumns));
    for (std::int64_t j = 0; j < kRows; ++j)
      dequantize_row(m, bytes.data(), j, 0, kColumns, weight[static_cast<std::size_t>(j)].data());
    for (std::int64_t count = 1; count <= kFewRows; ++count) {
      const std::vector<float> x = numbers_of_sizes(count * kColumns, static_cast<unsigned>(count));
      std::vector<float> y(static_cast<std::size_t>(count * kRows) + 1, 7);
      multiply({.matrix = m, .n = kRows, .weight = bytes.data(), .x = x.data(), .m = count, .y = y.data()});
      EXPECT_EQ(y.back(), 7) << "written behind the result";
      for (std::int64_t i = 0; i < count * kRows; ++i) {
        ExpectedSum expected;
        double size = 0;
        for (std::int64_t k = 0; k < kColumns; ++k) {
          const float number = x[static_cast<std::size_t>(i / kRows * kColumns + k)];
          const auto w = static_cast<double>(weight[static_cast<std::size_t>(i % kRows)][static_cast<std::size_t>(k)]);
          expected.add(number, w, largest(x));
          size += std::abs(static_cast<double>(number) * w);
        }
        const double share = f.blocks.zero_point == ZeroPoint::none ? 4e-6 : 4e-5;
        ASSERT_NEAR(y[static_cast<std::size_t>(i)], expected.sum, expected.error + share * size + 1e-6)
            << name_of(f.element) << ", blocks of " << f.blocks.columns << ", " << count << " rows, " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tern::block_quantized
