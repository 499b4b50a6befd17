// Formats of quantized values, MX and NVFP4 among them: small elements in blocks, each block with a scale and perhaps a
// zero point.
#pragma once

#include <tern/dtype.h>

#include <cstdint>

#include "dtypes/scale_grid.h"

namespace tern {

/// Use of a quantized value's zero points. The values are part of the archive format and never change.
enum class ZeroPoint : std::uint8_t {
  none = 0,        ///< number = element * scale
  subtracted = 1,  ///< number = (element - zero) * scale
  added = 2,       ///< number = element * scale + zero
};

/// A matrix in blocks of `rows` by `columns` elements; leading dimensions of tensors are folded into rows. The last
/// block of rows may be smaller. Each block has a scale and, unless zero_point is none, a zero point. All arithmetic is
/// float32, each operation rounded.
///
/// Elements of `bits` 4 to 6 share bytes (GGUF's formats): a row begins with the low four bits of its elements, two in
/// a byte, the first in the low bits. A plane of one bit an element follows for each further bit, eight in a byte, the
/// first in the lowest bit.
///
/// Scales and zero points of super-blocks are integers: multiples of one float16 unit of scales and one of zero points
/// for each `super_columns` columns of a row. The product of integer and unit is exact.
///
/// Or, if `kept` is 2, a 2:4 sparse matrix: of each 4 elements of a row, 2 are kept with their positions, and the
/// others are zero. A sparse matrix has no scales.
struct Blocks {
  std::int32_t columns = 0;  ///< 0: not a quantized value
  std::int32_t rows = 1;
  DType scale = DType::f8_e8m0;  ///< or float32, float16, bfloat16, float8_e4m3fn
  ZeroPoint zero_point = ZeroPoint::none;
  DType zero = DType::invalid;  ///< int8 or a scale type other than float8; invalid without zero points
  ScaleLayout layout = ScaleLayout::plain;
  bool outer = false;     ///< an additional float32 factor of all scales (NVFP4)
  std::uint8_t kept = 0;  ///< kept elements of a block; 0: all
  std::uint8_t bits = 0;  ///< stored bits of an element: uint8 has 4 to 6, int8 has 5 or 6; 0: those of its type
  std::int32_t super_columns = 0;  ///< columns of a super-block, with int8 or uint8 scales; 0: no super-blocks

  bool sparse() const { return kept != 0; }
  bool super() const { return super_columns != 0; }
  /// Planes of one bit behind the low four bits of a row.
  int planes() const { return bits > 4 ? bits - 4 : 0; }
  /// Divisor of the number of columns: positions of 2:4 end with a byte in each row.
  std::int32_t divisor() const { return sparse() ? 2 * columns : super() ? super_columns : columns; }

  friend bool operator==(const Blocks&, const Blocks&) = default;
};

/// The blocks of a 2:4 sparse matrix.
constexpr Blocks two_of_four() {
  Blocks b;
  b.columns = 4;
  b.scale = DType::invalid;
  b.kept = 2;
  return b;
}

/// True if quantized values may have elements (scales, zero points) of this type; for elements of 2:4 sparse values see
/// is_sparse_element.
bool is_quantized_element(DType t);
bool is_sparse_element(DType t);
bool is_quantized_scale(DType t);
bool is_quantized_zero(DType t);
/// True for types of scales and zero points of super-blocks.
bool is_super_integer(DType t);

/// A quantized matrix in memory: elements row by row, then the scales, the zero points and the outer scale, each
/// aligned to its own element's size; with super-blocks the units of scales and those of zero points instead of the
/// outer scale. A 2:4 sparse matrix has the kept elements row by row, then their positions among
/// four: 2 bits each, the first in the lowest bits of a byte.
struct QuantizedMatrix {
  DType element = DType::invalid;
  std::int64_t rows = 0;
  std::int64_t columns = 0;  ///< a multiple of blocks.divisor() and of elements_per_byte(element)
  Blocks blocks;
  /// First row of a part of the matrix: functions with a row parameter count from this row. Sizes and offsets stay
  /// those of the whole matrix.
  std::int64_t first = 0;

  ScaleGrid scales() const {
    if (blocks.sparse()) return {0, 0, ScaleLayout::plain};
    return {(rows + blocks.rows - 1) / blocks.rows, (columns + blocks.columns - 1) / blocks.columns, blocks.layout};
  }
  /// Bytes of a row's elements.
  std::int64_t row_bytes() const {
    if (blocks.bits != 0) return columns / 8 * blocks.bits;
    const std::int64_t elements = blocks.sparse() ? columns / blocks.columns * blocks.kept : columns;
    return elements / elements_per_byte(element) * element_size(element);
  }
  /// Elements in a byte of a row, or of its low four bits.
  int together() const { return blocks.bits != 0 ? 2 : elements_per_byte(element); }
  std::int64_t element_bytes() const { return rows * row_bytes(); }
  /// Positions of a 2:4 sparse matrix: a byte has the positions of two blocks.
  std::int64_t place_offset() const { return element_bytes(); }
  std::int64_t place_row_bytes() const { return blocks.sparse() ? columns / (2 * blocks.columns) : 0; }
  std::int64_t scale_offset() const {
    if (blocks.sparse()) return place_offset() + rows * place_row_bytes();
    return round_up(element_bytes(), element_size(blocks.scale));
  }
  std::int64_t zero_offset() const {
    if (blocks.sparse()) return scale_offset();
    return round_up(scale_offset() + scales().size() * element_size(blocks.scale), element_size(zero_type()));
  }
  std::int64_t outer_offset() const {
    const std::int64_t zeros = blocks.zero_point == ZeroPoint::none ? 0 : scales().size() * element_size(zero_type());
    return round_up(zero_offset() + zeros, blocks.outer ? 4 : blocks.super() ? 2 : 1);
  }
  /// Units of a row's super-blocks, of scales or of zero points.
  std::int64_t row_units() const { return blocks.super() ? columns / blocks.super_columns : 0; }
  std::int64_t scale_unit_offset() const { return outer_offset(); }
  std::int64_t zero_unit_offset() const { return scale_unit_offset() + rows * row_units() * 2; }
  std::int64_t bytes() const {
    if (blocks.super()) return zero_unit_offset() + (blocks.zero_point == ZeroPoint::none ? 0 : rows * row_units() * 2);
    return outer_offset() + (blocks.outer ? 4 : 0);
  }

 private:
  DType zero_type() const { return blocks.zero_point == ZeroPoint::none ? DType::i8 : blocks.zero; }
  static constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }
};

/// Empty, or the rule violated by blocks of such elements.
const char* wrong_blocks(DType element, const Blocks& blocks);

/// Fails (invalid_argument) unless the format obeys the rules above and its sizes fit 62 bits. The functions below
/// expect a checked matrix.
void check_quantized(const QuantizedMatrix& m);

/// Elements [begin, begin + count) of a row as float32; begin is a multiple of together(). `at` is the value's first
/// byte.
void decode_elements(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t begin,
                     std::int64_t count, float* to);
/// The scale, times the outer scale or its unit, and the zero point, times its unit, of a block, given by the block's
/// row and column numbers in the whole matrix.
struct BlockScale {
  float scale = 1, zero = 0;
};
BlockScale block_scale(const QuantizedMatrix& m, const std::byte* at, std::int64_t row_block,
                       std::int64_t column_block);

/// Dequantizes `count` numbers of a row from `begin` on. `begin` and `count` are multiples of together().
void dequantize_row(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t begin,
                    std::int64_t count, float* to);

}  // namespace tern
