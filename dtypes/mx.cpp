#include "dtypes/mx.h"

#include <tern/error.h>

#include <algorithm>
#include <bit>
#include <string>

#include "dtypes/convert.h"

namespace tern {
namespace {

struct Range {
  int exponent;   // exponent of the largest power of two
  float largest;  // finite value
};

Range range_of(DType element) {
  switch (element) {
    case DType::f8_e4m3fn: return {8, 448.0f};
    case DType::f8_e5m2: return {15, 57344.0f};
    case DType::f6_e2m3: return {2, 7.5f};
    case DType::f6_e3m2: return {4, 28.0f};
    case DType::f4_e2m1: return {2, 6.0f};
    default: break;
  }
  fail(ErrorCode::invalid_argument, "an MX tensor cannot have elements of type " + std::string(name_of(element)) +
                                        "; it takes float8_e4m3fn, float8_e5m2, float6_e2m3fn, float6_e3m2fn or "
                                        "float4_e2m1fn_x2");
}

// Elements scaled at a time; even, for packed pairs.
constexpr std::int64_t kMxChunk = 512;

template <class Byte>
Byte* block_start(const MxFormat& f, Byte* elements, std::int64_t row, std::int64_t column) {
  return elements + row * f.row_bytes() + column / elements_per_byte(f.element);
}

/// 1 / scale, exactly. Zero for NaN: the block's numbers become zero, and NaN and infinity become NaN, like in torchao.
float reciprocal(F8E8M0 scale) {
  if (scale.bits == 255) return 0.0f;
  const std::uint32_t exponent = 254u - scale.bits;
  return std::bit_cast<float>(exponent == 0 ? 0x00400000u : exponent << 23);
}

}  // namespace

void check_mx(const MxFormat& f) {
  range_of(f.element);
  const auto complain = [](const std::string& what) { fail(ErrorCode::invalid_argument, "an MX tensor: " + what); };
  if (f.layout != ScaleLayout::plain && f.layout != ScaleLayout::swizzled_32_4_4) {
    complain("unknown scale layout " + std::to_string(static_cast<int>(f.layout)));
  }
  if (f.rows < 0 || f.columns < 0) {
    complain("negative size " + std::to_string(f.rows) + " x " + std::to_string(f.columns));
  }
  if (f.block <= 0 || f.block % elements_per_byte(f.element) != 0) {
    complain("block size " + std::to_string(f.block) + (f.block > 0 ? " is odd" : " is not positive"));
  }
  if (f.columns % f.block != 0) {
    complain("rows of " + std::to_string(f.columns) + " elements do not divide into blocks of " +
             std::to_string(f.block));
  }
  // Padding adds less than 128 rows and 4 columns, accounted for in the limit.
  constexpr std::int64_t limit = std::int64_t{1} << 61;
  const std::int64_t rows = std::max<std::int64_t>(f.rows, 128);
  const std::int64_t columns = std::max<std::int64_t>(f.columns, 4);
  if (rows > limit / 4 / columns) {
    complain(std::to_string(f.rows) + " x " + std::to_string(f.columns) + " elements are too many");
  }
}

void decode_mx_row(const MxFormat& f, const void* elements, const F8E8M0* scales, std::int64_t row, float* out) {
  const ScaleGrid grid = f.scales();
  convert(block_start(f, static_cast<const std::byte*>(elements), row, 0), f.element, out, DType::f32, f.columns);
  for (std::int64_t b = 0; b < grid.columns; ++b) {
    const float scale = static_cast<float>(scales[grid.index(row, b)]);
    float* block = out + b * f.block;
    for (std::int64_t i = 0; i < f.block; ++i) block[i] *= scale;
  }
}

F8E8M0 mx_floor_scale(float largest, DType element) {
  const int max_exponent = range_of(element).exponent;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(largest) & 0x7fffffffu;
  if (bits > 0x7f800000u) return F8E8M0::from_bits(255);
  const int exponent = static_cast<int>(bits >> 23);  // biased; for a subnormal at most the scale's smallest exponent
  return F8E8M0::from_bits(static_cast<std::uint8_t>(std::max(exponent - max_exponent, 0)));
}

void quantize_mx_row(const MxFormat& f, const float* values, std::int64_t row, void* elements, F8E8M0* scales) {
  const ScaleGrid grid = f.scales();
  const float most = range_of(f.element).largest;
  float scaled[kMxChunk];
  for (std::int64_t b = 0; b < grid.columns; ++b) {
    const float* block = values + b * f.block;
    std::uint32_t largest = 0;  // largest magnitude as an integer: NaN is larger than every number
    for (std::int64_t i = 0; i < f.block; ++i) {
      largest = std::max(largest, std::bit_cast<std::uint32_t>(block[i]) & 0x7fffffffu);
    }
    const F8E8M0 scale = mx_floor_scale(std::bit_cast<float>(largest), f.element);
    scales[grid.index(row, b)] = scale;
    const float factor = reciprocal(scale);
    for (std::int64_t done = 0; done < f.block; done += kMxChunk) {
      const std::int64_t n = std::min(kMxChunk, f.block - done);
      for (std::int64_t i = 0; i < n; ++i) {
        const float v = block[done + i] * factor;
        scaled[i] = v > most ? most : v < -most ? -most : v;
      }
      convert(scaled, DType::f32, block_start(f, static_cast<std::byte*>(elements), row, b * f.block + done), f.element,
              n);
    }
  }
}

}  // namespace tern
