#include "dtypes/blocks.h"

#include <tern/error.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "dtypes/convert.h"
#include "dtypes/small_float.h"

namespace tern {
namespace {

/// Sign-extends elements of `bits` bits, the first in the low bits.
template <int bits>
void unpack_integers(const std::uint8_t* from, std::int64_t count, float* to) {
  constexpr int kPer = 8 / bits, kSign = 1 << (bits - 1), kMask = (1 << bits) - 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const int code = from[i / kPer] >> (i % kPer * bits) & kMask;
    to[i] = static_cast<float>((code ^ kSign) - kSign);
  }
}

/// Elements [begin, begin + count) of a row of `bits` 4 to 6.
void unpack_planes(const QuantizedMatrix& m, const std::uint8_t* row, std::int64_t begin, std::int64_t count,
                   float* to) {
  const int sign = m.element == DType::i8 ? 1 << (m.blocks.bits - 1) : 0;
  const std::uint8_t* const planes = row + m.columns / 2;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t k = begin + i;
    int code = row[k / 2] >> (k % 2 * 4) & 15;
    for (int p = 0; p < m.blocks.planes(); ++p) code |= (planes[p * (m.columns / 8) + k / 8] >> (k % 8) & 1) << (4 + p);
    to[i] = static_cast<float>((code ^ sign) - sign);
  }
}

/// Numbers [begin, begin + count) of a row of a 2:4 sparse matrix.
void expand(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t begin, std::int64_t count,
            float* to) {
  const std::int64_t block = m.blocks.columns, kept = m.blocks.kept;
  const auto* const places = reinterpret_cast<const std::uint8_t*>(at) + m.place_offset() + row * m.place_row_bytes();
  const std::byte* const elements = at + row * m.row_bytes();
  for (std::int64_t b = begin / block; b * block < begin + count; ++b) {
    float values[2];
    convert(elements + b * kept * element_size(m.element), m.element, values, DType::f32, kept);
    const int code = places[b / 2] >> (b % 2 * 4) & 15;
    for (std::int64_t i = std::max(begin, b * block); i < std::min(begin + count, (b + 1) * block); ++i) {
      const int place = static_cast<int>(i - b * block);
      to[i - begin] = ((code & 3) == place ? values[0] : 0.0F) + (code >> 2 == place ? values[1] : 0.0F);
    }
  }
}

const char* wrong_sparse(DType element, const Blocks& b) {
  if (!is_sparse_element(element)) return "a 2:4 sparse value of another type than float32, float16 or bfloat16";
  if (b != two_of_four())
    return "a sparse value that is not one of two elements in four, without scales and zero points";
  return nullptr;
}

/// Rules of elements that share bytes, and of super-blocks.
const char* wrong_groups(DType element, const Blocks& b) {
  if (b.bits != 0) {
    if (!(element == DType::u8 && b.bits >= 4 && b.bits <= 6) &&
        !(element == DType::i8 && (b.bits == 5 || b.bits == 6)))
      return "elements of a number of bits that their type does not have";
    if (b.columns % 8 != 0) return "blocks that end within a byte";
  }
  if (!b.super()) return nullptr;
  if (b.super_columns < b.columns || b.super_columns > 1 << 30 || b.super_columns % b.columns != 0)
    return "super-blocks that do not divide into blocks";
  if (!is_super_integer(b.scale) || (b.zero_point != ZeroPoint::none && !is_super_integer(b.zero)))
    return "super-blocks with scales or zero points that are not integers of 8 bits";
  if (b.zero_point == ZeroPoint::subtracted) return "super-blocks with subtracted zero points";
  if (b.outer || b.rows != 1 || b.layout != ScaleLayout::plain)
    return "super-blocks with an outer scale, blocks of several rows or a swizzled layout";
  return nullptr;
}

float number_at(const std::byte* at, DType t, std::int64_t i) {
  if (t == DType::f8_e8m0) return static_cast<float>(F8E8M0::from_bits(static_cast<std::uint8_t>(at[i])));
  float value = 0;
  // The bytes may be unaligned; convert needs aligned elements.
  alignas(8) std::byte element[8];
  std::memcpy(element, at + i * element_size(t), static_cast<std::size_t>(element_size(t)));
  convert(element, t, &value, DType::f32, 1);
  return value;
}

/// Scales and zero points of one matrix, whose offsets are computed once.
class ScaleReader {
 public:
  ScaleReader(const QuantizedMatrix& m, const std::byte* at)
      : blocks_(m.blocks),
        grid_(m.scales()),
        scales_(at + m.scale_offset()),
        zeros_(at + m.zero_offset()),
        scale_units_(at + m.scale_unit_offset()),
        zero_units_(at + m.zero_unit_offset()),
        row_units_(m.row_units()) {
    if (blocks_.outer) outer_ = number_at(at + m.outer_offset(), DType::f32, 0);
  }
  BlockScale read(std::int64_t row_block, std::int64_t column_block) const {
    const std::int64_t i = grid_.index(row_block, column_block);
    BlockScale s{number_at(scales_, blocks_.scale, i), 0};
    if (blocks_.outer) s.scale *= outer_;
    if (blocks_.zero_point != ZeroPoint::none) s.zero = number_at(zeros_, blocks_.zero, i);
    if (!blocks_.super()) return s;
    const std::int64_t unit = row_block * row_units_ + column_block * blocks_.columns / blocks_.super_columns;
    s.scale *= number_at(scale_units_, DType::f16, unit);
    if (blocks_.zero_point != ZeroPoint::none) s.zero *= number_at(zero_units_, DType::f16, unit);
    return s;
  }

 private:
  const Blocks& blocks_;
  ScaleGrid grid_;
  const std::byte* scales_;
  const std::byte* zeros_;
  const std::byte *scale_units_, *zero_units_;
  std::int64_t row_units_;
  float outer_ = 1;
};

}  // namespace

bool is_quantized_element(DType t) {
  switch (t) {
    case DType::u8:
    case DType::i8:
    case DType::i4:
    case DType::i2:
    case DType::f8_e4m3fn:
    case DType::f8_e5m2:
    case DType::f6_e2m3:
    case DType::f6_e3m2:
    case DType::f4_e2m1: return true;
    default: return false;
  }
}

bool is_sparse_element(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16;
}

bool is_quantized_scale(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16 || t == DType::f8_e8m0 || t == DType::f8_e4m3fn;
}

bool is_quantized_zero(DType t) {
  return t == DType::i8 || t == DType::f32 || t == DType::f16 || t == DType::bf16;
}

bool is_super_integer(DType t) {
  return t == DType::i8 || t == DType::u8;
}

const char* wrong_blocks(DType element, const Blocks& b) {
  constexpr std::int32_t kMost = 1 << 30;
  if (b.columns < 1 || b.columns > kMost || b.rows < 1 || b.rows > kMost)
    return "blocks of no size, or of too large a one";
  if (b.sparse()) return wrong_sparse(element, b);
  if (!is_quantized_element(element))
    return "a quantized value whose elements are of another type than 8 bits or fewer";
  if (b.columns > 1 && b.columns % elements_per_byte(element) != 0) return "blocks that end within a byte";
  if (b.columns == 1 && elements_per_byte(element) > 1) return "blocks that end within a byte";
  if (const char* wrong = wrong_groups(element, b)) return wrong;
  if (!b.super() && !is_quantized_scale(b.scale)) return "scales of a type that scales do not have";
  if (b.zero_point > ZeroPoint::added) return "zero points of a kind that this version does not know";
  if (b.zero_point == ZeroPoint::none ? b.zero != DType::invalid : !b.super() && !is_quantized_zero(b.zero))
    return "zero points of a type that zero points do not have";
  if (b.layout > ScaleLayout::swizzled_32_4_4) return "scales in a layout that this version does not know";
  if (b.layout != ScaleLayout::plain && (b.rows != 1 || element_size(b.scale) != 1 || b.zero_point != ZeroPoint::none))
    return "a swizzled layout, which is for scales of 8 bits of single rows";
  return nullptr;
}

void check_quantized(const QuantizedMatrix& m) {
  const auto complain = [](const std::string& what) {
    fail(ErrorCode::invalid_argument, "a quantized value: " + what);
  };
  if (const char* wrong = wrong_blocks(m.element, m.blocks)) complain(wrong);
  if (m.rows < 0 || m.columns < 0) {
    complain("negative size " + std::to_string(m.rows) + " x " + std::to_string(m.columns));
  }
  if (m.columns % m.blocks.divisor() != 0) {
    complain("rows of " + std::to_string(m.columns) + " elements do not divide into blocks of " +
             std::to_string(m.blocks.divisor()));
  }
  // Padding adds less than 128 rows and 4 columns, accounted for in the limit.
  constexpr std::int64_t kLimit = std::int64_t{1} << 58;
  if (std::max<std::int64_t>(m.rows, 128) > kLimit / std::max<std::int64_t>(m.columns, 4)) {
    complain(std::to_string(m.rows) + " x " + std::to_string(m.columns) + " elements are too many");
  }
}

void decode_elements(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t begin,
                     std::int64_t count, float* to) {
  if (m.blocks.sparse()) return expand(m, at, m.first + row, begin, count, to);
  if (m.blocks.bits != 0)
    return unpack_planes(m, reinterpret_cast<const std::uint8_t*>(at) + (m.first + row) * m.row_bytes(), begin, count,
                         to);
  const std::byte* from = at + (m.first + row) * m.row_bytes() + begin / elements_per_byte(m.element);
  if (m.element == DType::i4) return unpack_integers<4>(reinterpret_cast<const std::uint8_t*>(from), count, to);
  if (m.element == DType::i2) return unpack_integers<2>(reinterpret_cast<const std::uint8_t*>(from), count, to);
  convert(from, m.element, to, DType::f32, count);
}

BlockScale block_scale(const QuantizedMatrix& m, const std::byte* at, std::int64_t row_block,
                       std::int64_t column_block) {
  return ScaleReader(m, at).read(row_block, column_block);
}

void dequantize_row(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t begin,
                    std::int64_t count, float* to) {
  decode_elements(m, at, row, begin, count, to);
  if (m.blocks.sparse()) return;
  const ScaleReader scales(m, at);
  const std::int64_t block = m.blocks.columns, end = begin + count;
  for (std::int64_t k = begin; k < end;) {
    const std::int64_t next = std::min(end, (k / block + 1) * block);
    const BlockScale s = scales.read((m.first + row) / m.blocks.rows, k / block);
    float* const numbers = to + (k - begin);
    const std::int64_t n = next - k;
    switch (m.blocks.zero_point) {
      case ZeroPoint::none:
        for (std::int64_t i = 0; i < n; ++i) numbers[i] *= s.scale;
        break;
      case ZeroPoint::subtracted:
        for (std::int64_t i = 0; i < n; ++i) numbers[i] = (numbers[i] - s.zero) * s.scale;
        break;
      case ZeroPoint::added:
        for (std::int64_t i = 0; i < n; ++i) numbers[i] = numbers[i] * s.scale + s.zero;
        break;
    }
    k = next;
  }
}

}  // namespace tern
