// Quantized values of all formats, with random numbers.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "dtypes/blocks.h"
#include "dtypes/convert.h"

namespace tern::test {

/// Elements of any code but NaN and infinity, scales and zero points near 1.
inline std::vector<std::byte> random_value(const QuantizedMatrix& m, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(m.bytes()));
  for (std::int64_t i = 0; i < m.bytes(); ++i) {  // positions of any two bits, too
    if (i >= m.element_bytes() && !m.blocks.sparse()) break;
    auto code = static_cast<std::uint8_t>(engine());
    if (m.element == DType::f6_e2m3 || m.element == DType::f6_e3m2) code &= 63;
    if (m.element == DType::f8_e4m3fn && (code & 0x7f) == 0x7f) code = 0x55;
    if (m.element == DType::f8_e5m2 && (code & 0x7c) == 0x7c) code = 0x2a;
    bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(code);
  }
  const auto fill = [&](std::int64_t at, DType t, std::int64_t count, float least, float most) {
    std::uniform_real_distribution<float> draw(least, most);
    for (std::int64_t i = 0; i < count; ++i) {
      const float x = draw(engine);
      convert(&x, DType::f32, bytes.data() + at + i * element_size(t), t, 1);
    }
  };
  if (m.blocks.sparse()) {
    fill(0, m.element, m.place_offset() / element_size(m.element), -2, 2);
    return bytes;
  }
  if (m.blocks.super()) {
    const bool negative = m.blocks.scale == DType::i8;
    fill(m.scale_offset(), m.blocks.scale, m.scales().size(), negative ? -127 : 1, negative ? 127 : 63);
    fill(m.scale_unit_offset(), DType::f16, m.rows * m.row_units(), .01F, .04F);
    if (m.blocks.zero_point == ZeroPoint::none) return bytes;
    fill(m.zero_offset(), m.blocks.zero, m.scales().size(), 0, 63);
    fill(m.zero_unit_offset(), DType::f16, m.rows * m.row_units(), -.1F, .1F);
    return bytes;
  }
  fill(m.scale_offset(), m.blocks.scale, m.scales().size(), .5F, 2);
  if (m.blocks.zero_point != ZeroPoint::none)
    fill(m.zero_offset(), m.blocks.zero, m.scales().size(), m.blocks.zero == DType::i8 ? -9 : -1, 9);
  if (m.blocks.outer) fill(m.outer_offset(), DType::f32, 1, .25F, .5F);
  return bytes;
}

struct Format {
  DType element;
  Blocks blocks;
};
constexpr std::int32_t kRow = 0;  // a block per row
inline const Format kFormats[] = {
    {DType::i4, {.columns = 32, .scale = DType::f32}},
    {DType::i4, {.columns = 32, .scale = DType::bf16, .zero_point = ZeroPoint::subtracted, .zero = DType::i8}},
    {DType::i4, {.columns = 16, .scale = DType::f16, .zero_point = ZeroPoint::added, .zero = DType::f32}},
    {DType::i4, {.columns = kRow, .scale = DType::f32}},
    {DType::i2, {.columns = 32, .scale = DType::f32}},
    {DType::i2, {.columns = 64, .scale = DType::f32, .zero_point = ZeroPoint::subtracted, .zero = DType::f32}},
    {DType::i8, {.columns = kRow, .scale = DType::f32}},
    {DType::i8, {.columns = 8, .scale = DType::f32}},
    {DType::u8, {.columns = kRow, .scale = DType::f32, .zero_point = ZeroPoint::subtracted, .zero = DType::i8}},
    {DType::i8, {.columns = 32, .rows = 3, .scale = DType::f32}},
    {DType::f8_e4m3fn, {.columns = 32}},
    {DType::f8_e4m3fn, {.columns = 32, .layout = ScaleLayout::swizzled_32_4_4}},
    {DType::f8_e5m2, {.columns = 32}},
    {DType::f6_e2m3, {.columns = 32}},
    {DType::f6_e3m2, {.columns = 32}},
    {DType::f4_e2m1, {.columns = 32}},
    {DType::f4_e2m1, {.columns = 16, .scale = DType::f8_e4m3fn, .outer = true}},
    {DType::i4, {.columns = 32, .scale = DType::f16}},
    {DType::u8, {.columns = 32, .scale = DType::f16, .zero_point = ZeroPoint::added, .zero = DType::f16, .bits = 4}},
    {DType::u8,
     {.columns = 16, .scale = DType::f32, .zero_point = ZeroPoint::subtracted, .zero = DType::i8, .bits = 4}},
    {DType::i8, {.columns = 32, .scale = DType::f16, .bits = 5}},
    {DType::u8, {.columns = 32, .scale = DType::f16, .zero_point = ZeroPoint::added, .zero = DType::f16, .bits = 5}},
    {DType::u8, {.columns = kRow, .scale = DType::f32, .bits = 6}},
    {DType::i8, {.columns = 32, .scale = DType::f32, .outer = true, .bits = 6}},
    {DType::u8,
     {.columns = 32,
      .scale = DType::u8,
      .zero_point = ZeroPoint::added,
      .zero = DType::u8,
      .bits = 4,
      .super_columns = 64}},
    {DType::u8,
     {.columns = 32,
      .scale = DType::u8,
      .zero_point = ZeroPoint::added,
      .zero = DType::u8,
      .bits = 5,
      .super_columns = 64}},
    {DType::i8, {.columns = 16, .scale = DType::i8, .bits = 6, .super_columns = 64}},
    {DType::i8, {.columns = 32, .scale = DType::i8, .super_columns = 32}},
    {DType::bf16, two_of_four()},
    {DType::f16, two_of_four()},
    {DType::f32, two_of_four()},
};

/// The format's matrix; formats with a block per row get blocks of `columns` columns.
inline QuantizedMatrix matrix_of(const Format& f, std::int64_t rows, std::int64_t columns) {
  QuantizedMatrix m{f.element, rows, columns, f.blocks};
  if (m.blocks.columns == kRow) m.blocks.columns = static_cast<std::int32_t>(columns);
  check_quantized(m);
  return m;
}

/// All numbers, row by row.
inline std::vector<float> numbers_of(const QuantizedMatrix& m, const std::vector<std::byte>& bytes) {
  std::vector<float> numbers(static_cast<std::size_t>(m.rows * m.columns));
  for (std::int64_t r = 0; r < m.rows; ++r)
    dequantize_row(m, bytes.data(), r, 0, m.columns, numbers.data() + r * m.columns);
  return numbers;
}

}  // namespace tern::test
