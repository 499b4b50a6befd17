// Numbers that are small elements times scales are found to be so: elements, scales and zero points that the test draws
// itself must come back as numbers, bit for bit.
#include "exporter/passes/quantized/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "dtypes/convert.h"

namespace tern::quantized {
namespace {

float rounded(DType t, float x) {
  std::byte narrow[4];
  convert(&x, DType::f32, narrow, t, 1);
  convert(narrow, t, &x, DType::f32, 1);
  return x;
}

struct Drawn {
  WeightMatrix numbers;
  PerBlock scales, zeros;
};

/// `number(q, s, z)` of elements in [least, most].
Drawn draw(DType type, std::int64_t rows, std::int64_t columns, std::int64_t block_rows, std::int64_t block, int lower,
           int upper, const std::function<float(float, float, float)>& number, bool whole_zeros = true) {
  std::mt19937 engine(static_cast<std::uint32_t>(rows * 7 + columns * 3 + block));
  std::uniform_int_distribution<int> code(lower, upper);
  std::uniform_real_distribution<float> scale(.001F, .03F);
  const std::int64_t down = (rows + block_rows - 1) / block_rows, across = columns / block;
  Drawn d{{{}, type, rows, columns}, {{}, type, down, across}, {{}, type, down, across}};
  for (std::int64_t i = 0; i < down * across; ++i) {
    d.scales.values.push_back(rounded(type, scale(engine)));
    d.zeros.values.push_back(rounded(type, whole_zeros ? static_cast<float>(code(engine)) : scale(engine) * 300));
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto b = static_cast<std::size_t>(r / block_rows * across + c / block);
      d.numbers.values.push_back(
          rounded(type, number(static_cast<float>(code(engine)), d.scales.values[b], d.zeros.values[b])));
    }
  }
  return d;
}

void expect_numbers(const Fitted& f, const WeightMatrix& n) {
  const QuantizedMatrix m{f.element, n.rows, n.columns, f.blocks};
  ASSERT_EQ(std::ssize(f.bytes), m.bytes());
  std::vector<float> row(static_cast<std::size_t>(n.columns));
  for (std::int64_t r = 0; r < n.rows; ++r) {
    dequantize_row(m, f.bytes.data(), r, 0, n.columns, row.data());
    for (std::int64_t c = 0; c < n.columns; ++c)
      ASSERT_EQ(rounded(n.type, row[static_cast<std::size_t>(c)]),
                n.values[static_cast<std::size_t>(r * n.columns + c)]);
  }
}

float plain(float q, float s, float) {
  return q * s;
}
float subtracted(float q, float s, float z) {
  return (q - z) * s;
}
float added(float q, float s, float z) {
  return q * s + z;
}

TEST(QuantizedFit, TakesTheFewestBits) {
  const struct {
    int min, max;
    DType element;
  } kCases[] = {{-2, 1, DType::i2}, {-8, 7, DType::i4}, {-128, 127, DType::i8}, {0, 255, DType::u8}};
  for (const auto& c : kCases) {
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      const Drawn d = draw(type, 6, 64, 1, 32, c.min, c.max, plain);
      const auto f = fit(d.numbers, d.scales);
      ASSERT_TRUE(f) << name_of(c.element);
      EXPECT_EQ(8 / elements_per_byte(f->element), 8 / elements_per_byte(c.element));
      EXPECT_EQ(f->blocks.columns, 32);
      EXPECT_EQ(f->blocks.scale, type);
      expect_numbers(*f, d.numbers);
    }
  }
}

TEST(QuantizedFit, FindsWholeZeroPoints) {
  const Drawn d = draw(DType::f32, 6, 128, 1, 32, 0, 15, subtracted);
  const auto f = fit(d.numbers, d.scales);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->element, DType::i4);
  EXPECT_EQ(f->blocks.zero_point, ZeroPoint::subtracted);
  EXPECT_EQ(f->blocks.zero, DType::i8);
  expect_numbers(*f, d.numbers);
}

TEST(QuantizedFit, TakesZeroPointsThatAreNoWholeNumbers) {
  for (const auto& number : {subtracted, added}) {
    for (const DType type : {DType::f32, DType::f16}) {
      const Drawn d = draw(type, 4, 64, 1, 32, number == added ? -8 : 0, number == added ? 7 : 15, number, false);
      EXPECT_FALSE(fit(d.numbers, d.scales));
      const auto f = fit(d.numbers, d.scales, d.zeros);
      ASSERT_TRUE(f) << name_of(type);
      expect_numbers(*f, d.numbers);
    }
  }
}

TEST(QuantizedFit, BlocksOfRowsOfOneOrOfAll) {
  for (const auto& [rows, columns] : {std::pair{3, 16}, {1, 64}, {7, 64}, {128, 32}}) {
    const Drawn d = draw(DType::f32, 7, 64, std::min(rows, 7), columns, -128, 127, plain);
    const auto f = fit(d.numbers, d.scales);
    ASSERT_TRUE(f);
    EXPECT_EQ(f->blocks.columns, columns);
    expect_numbers(*f, d.numbers);
  }
}

TEST(QuantizedFit, SmallFloats) {
  for (const DType element : {DType::f4_e2m1, DType::f8_e4m3fn, DType::f8_e5m2}) {
    Drawn d = draw(DType::f32, 5, 64, 1, 16, -100, 100, plain);
    for (std::size_t i = 0; i < d.numbers.values.size(); ++i) {
      float e = std::sin(static_cast<float>(i) * 12.9F) * 5;
      std::byte code[2];
      convert(&e, DType::f32, code, element, 1);
      convert(code, element, &e, DType::f32, 1);
      d.numbers.values[i] = e * d.scales.values[i / 16];
    }
    const auto f = fit(d.numbers, d.scales);
    ASSERT_TRUE(f) << name_of(element);
    EXPECT_EQ(f->element, element);
    expect_numbers(*f, d.numbers);
  }
}

TEST(QuantizedFit, RefusesWhatIsNotBitForBit) {
  Drawn d = draw(DType::f32, 6, 64, 1, 32, -8, 7, plain);
  d.numbers.values[100] = std::nextafter(d.numbers.values[100], 1.0F);
  EXPECT_FALSE(fit(d.numbers, d.scales));
  d = draw(DType::f32, 6, 64, 1, 32, -8, 7, plain);
  d.numbers.values[5] = std::nanf("");
  EXPECT_FALSE(fit(d.numbers, d.scales));
  d.scales.columns = 3;
  EXPECT_FALSE(fit(d.numbers, d.scales));
  // Elements wider than any type.
  d = draw(DType::f32, 6, 64, 1, 32, -300, 300, plain);
  EXPECT_FALSE(fit(d.numbers, d.scales));
}

}  // namespace
}  // namespace tern::quantized
