// A row times elements of four and eight bits in integer arithmetic, against sums in double, with difficult values,
// scales and sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "dtypes/convert.h"
#include "kernels/cpu/products/block_quantized/driver.h"

namespace tern::test {
namespace {

struct IntegerRowsLayout {
  DType element;
  Blocks blocks;
};
constexpr std::int32_t kBlockOfRow = 0;  // a block per row
const IntegerRowsLayout kLayouts[] = {
    {DType::i4, {.columns = 16, .scale = DType::bf16}},
    {DType::i4, {.columns = 32, .scale = DType::bf16}},
    {DType::i4, {.columns = 32, .scale = DType::f32}},
    {DType::i4, {.columns = 64, .scale = DType::f16}},
    {DType::i4, {.columns = 128, .scale = DType::bf16}},
    {DType::i4, {.columns = 256, .scale = DType::f32}},
    {DType::i4, {.columns = kBlockOfRow, .scale = DType::f32}},
    {DType::f4_e2m1, {.columns = 32}},
    {DType::f4_e2m1, {.columns = 32, .rows = 2}},
    {DType::f4_e2m1, {.columns = kBlockOfRow, .scale = DType::f32}},
    {DType::f4_e2m1, {.columns = 16, .scale = DType::f8_e4m3fn, .outer = true}},
    {DType::i8, {.columns = kBlockOfRow, .scale = DType::f32}},
    {DType::i8, {.columns = kBlockOfRow, .scale = DType::bf16, .zero_point = ZeroPoint::subtracted, .zero = DType::i8}},
    {DType::u8, {.columns = kBlockOfRow, .scale = DType::f32, .zero_point = ZeroPoint::added, .zero = DType::f32}},
};

/// Every code, and scales between 1/2 and 2.
std::vector<std::byte> random_integer_rows(const QuantizedMatrix& m, std::mt19937& engine) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(m.bytes()));
  for (std::int64_t i = 0; i < m.element_bytes(); ++i) bytes[static_cast<std::size_t>(i)] = std::byte(engine());
  std::uniform_real_distribution<float> draw(.5F, 2);
  for (std::int64_t i = 0; i < m.scales().size(); ++i) {
    const float scale = draw(engine);
    convert(&scale, DType::f32, bytes.data() + m.scale_offset() + i * element_size(m.blocks.scale), m.blocks.scale, 1);
  }
  // Zero points of zero only change the code path, not the sum.
  if (m.blocks.zero_point != ZeroPoint::none) std::fill(bytes.begin() + m.zero_offset(), bytes.end(), std::byte{0});
  const float outer = .375F;
  if (m.blocks.outer) std::copy_n(reinterpret_cast<const std::byte*>(&outer), 4, bytes.data() + m.outer_offset());
  return bytes;
}

std::vector<float> product_of(const QuantizedMatrix& m, const std::vector<std::byte>& bytes,
                              const std::vector<float>& x) {
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / m.columns;
  std::vector<float> y(static_cast<std::size_t>(rows * m.rows), -1);
  block_quantized::multiply(
      {.matrix = m, .n = m.rows, .weight = bytes.data(), .x = x.data(), .m = rows, .y = y.data(), .finish = {}});
  return y;
}

std::vector<float> numbers_of_row(const QuantizedMatrix& m, const std::vector<std::byte>& bytes, std::int64_t row) {
  std::vector<float> numbers(static_cast<std::size_t>(m.columns));
  dequantize_row(m, bytes.data(), row, 0, m.columns, numbers.data());
  return numbers;
}

/// The largest magnitude among the elements that share element k's power of two: eight neighbours, or four in each of
/// four runs of 64.
float largest_beside(const float* x, std::size_t columns, std::size_t k, bool bytes) {
  float largest = 0;
  for (std::size_t run = 0; run < (bytes ? 4 : 1); ++run) {
    const std::size_t begin = bytes ? k / 256 * 256 + run * 64 + k % 64 / 4 * 4 : k / 8 * 8;
    for (std::size_t q = begin; q < std::min(columns, begin + (bytes ? 4 : 8)); ++q)
      largest = std::max(largest, std::fabs(x[q]));
  }
  return largest;
}

/// Expects the error of float32 sums with each magnitude replaced by the largest of its shared power of two.
void expect_sums(const QuantizedMatrix& m, const std::vector<std::byte>& bytes, const std::vector<float>& x) {
  const std::vector<float> y = product_of(m, bytes, x);
  const auto columns = static_cast<std::size_t>(m.columns), n = static_cast<std::size_t>(m.rows);
  for (std::size_t i = 0; i < x.size() / columns; ++i) {
    const float* const row = x.data() + i * columns;
    std::vector<double> beside(columns);
    for (std::size_t k = 0; k < columns; ++k)
      beside[k] = static_cast<double>(largest_beside(row, columns, k, elements_per_byte(m.element) == 1));
    for (std::size_t j = 0; j < n; ++j) {
      const std::vector<float> w = numbers_of_row(m, bytes, static_cast<std::int64_t>(j));
      double sum = 0, bound = 1e-40;
      for (std::size_t k = 0; k < columns; ++k) {
        sum += static_cast<double>(row[k]) * static_cast<double>(w[k]);
        bound += 1e-6 * beside[k] * std::fabs(static_cast<double>(w[k]));
      }
      ASSERT_NEAR(static_cast<double>(y[i * n + j]), sum, bound)
          << name_of(m.element) << ' ' << m.blocks.columns << ' ' << m.columns << " at " << i << ' ' << j;
    }
  }
}

TEST(IntegerRows, NumbersOfAllSizes) {
  std::mt19937 engine(1);
  for (const IntegerRowsLayout& l : kLayouts) {
    for (const std::int64_t columns : {32, 127, 256, 320, 330, 768, 4864}) {
      const auto block = l.blocks.columns == kBlockOfRow ? static_cast<std::int32_t>(columns) : l.blocks.columns;
      if (columns % block != 0) continue;
      QuantizedMatrix m{l.element, 150, columns, l.blocks};
      m.blocks.columns = block;
      const std::vector<std::byte> bytes = random_integer_rows(m, engine);
      std::vector<float> x(static_cast<std::size_t>(2 * columns));
      std::normal_distribution<float> draw;
      for (float& v : x) {
        const int exponent = engine() % 5 == 0 ? static_cast<int>(engine() % 60) - 30 : 0;
        v = engine() % 9 == 0 ? 0 : std::ldexp(draw(engine), exponent);
      }
      expect_sums(m, bytes, x);
      // Nearly the smallest and the largest numbers, and none but zero.
      for (float& v : x) v = std::ldexp(draw(engine), -125);
      expect_sums(m, bytes, x);
      for (float& v : x) v = std::ldexp(std::clamp(draw(engine), -1.0F, 1.0F), 100);
      expect_sums(m, bytes, x);
      expect_sums(m, bytes, std::vector<float>(x.size()));
    }
  }
}

TEST(IntegerRows, SmallNumbersCountBesideLargeNeighboursOfOtherLanes) {
  // 2^14 below the largest of eight: exact for numbers with eight digits, like bfloat16's.
  const QuantizedMatrix m{DType::i4, 4, 128, {.columns = 32, .scale = DType::f32}};
  std::mt19937 engine(2);
  const std::vector<std::byte> bytes = random_integer_rows(m, engine);
  for (std::size_t at = 0; at < 128; ++at) {
    std::vector<float> x(128);
    x[at] = 0x1.56p0F;
    x[at / 8 * 8 + (at + 1) % 8] = 0x1p14F;
    const std::vector<float> y = product_of(m, bytes, x);
    for (std::int64_t j = 0; j < m.rows; ++j) {
      const std::vector<float> w = numbers_of_row(m, bytes, j);
      double sum = 0;
      for (std::size_t k = 0; k < 128; ++k) sum += static_cast<double>(x[k]) * static_cast<double>(w[k]);
      EXPECT_NEAR(static_cast<double>(y[static_cast<std::size_t>(j)]), sum, std::fabs(sum) * 0x1p-22) << at;
    }
  }
}

TEST(IntegerRows, NumbersThatAreNotFinite) {
  std::mt19937 engine(3);
  for (const IntegerRowsLayout& l : kLayouts) {
    // Zero points are subtracted from the whole sum, and infinity minus infinity is NaN.
    if (l.blocks.zero_point != ZeroPoint::none) continue;
    QuantizedMatrix m{l.element, 9, 256, l.blocks};
    if (m.blocks.columns == kBlockOfRow) m.blocks.columns = 256;
    std::vector<std::byte> bytes = random_integer_rows(m, engine);
    std::fill_n(bytes.begin(), m.row_bytes(), std::byte{0x11});  // a positive number
    for (const float special : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      std::vector<float> x(256, 1);
      x[77] = special;
      const float y = product_of(m, bytes, x)[0];
      EXPECT_TRUE(std::isnan(special) ? std::isnan(y) : y == special) << y;
    }
  }
}

TEST(IntegerRows, ScalesThatAreNoNormalNumbers) {
  const QuantizedMatrix m{DType::f4_e2m1, 70, 256, {.columns = 32}};
  std::mt19937 engine(4);
  std::vector<std::byte> bytes = random_integer_rows(m, engine);
  std::vector<float> x(256);
  for (float& v : x) v = std::ldexp(std::normal_distribution<float>()(engine), 100);
  auto* const scales = bytes.data() + m.scale_offset();
  std::fill_n(scales + 3 * 8, 8, std::byte{0});  // 2^-127
  std::fill_n(scales + 5 * 8, 8, std::byte{1});  // 2^-126
  expect_sums(m, bytes, x);
  scales[66 * 8 + 5] = std::byte{255};
  const std::vector<float> y = product_of(m, bytes, x);
  for (std::size_t j = 0; j < 70; ++j) EXPECT_EQ(std::isnan(y[j]), j == 66) << j;
}

}  // namespace
}  // namespace tern::test
