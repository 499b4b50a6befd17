// MX matrices (OCP Microscaling Formats 1.0): rows of small floats, with an e8m0 scale for each run of `block`
// elements.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>

#include "dtypes/mx_scales.h"
#include "dtypes/small_float.h"

namespace tern {

/// The shape of an MX matrix; leading dimensions of tensors are folded into rows.
struct MxFormat {
  DType element = DType::f8_e4m3fn;  ///< float8_e4m3fn, float8_e5m2, either float6, or float4_e2m1fn_x2
  std::int64_t rows = 0;
  std::int64_t columns = 0;  ///< elements in a row, a multiple of `block`
  std::int64_t block = 32;   ///< elements sharing a scale; even for float4
  ScaleLayout layout = ScaleLayout::plain;

  ScaleGrid scales() const { return {rows, columns / block, layout}; }
  std::int64_t row_bytes() const { return columns / elements_per_byte(element); }
  std::int64_t element_bytes() const { return rows * row_bytes(); }
};

/// Fails (invalid_argument) unless the format obeys the rules above and its sizes fit 62 bits. The functions below, and
/// the members of MxFormat, expect a checked format.
void check_mx(const MxFormat& format);

/// Computes element * scale in float32. A scale of 255 makes its whole block NaN.
/// `elements` and `scales` are the whole matrix: element_bytes() and scales().size() long; `out` has `columns`.
void decode_mx_row(const MxFormat& format, const void* elements, const F8E8M0* scales, std::int64_t row, float* out);

/// The scale of a block with the largest magnitude `largest`: its largest power of two, divided by the largest power of
/// two of the element type (OCP MX 1.0, 6.3; torchao's FLOOR), within 2^-127 and 2^127. NaN gives NaN.
F8E8M0 mx_floor_scale(float largest, DType element);

/// Quantizes a row: each block's scale by mx_floor_scale, each element v / scale rounded to nearest even and clamped to
/// the largest finite number. A block with a NaN gets the scale NaN. Padding of swizzled scales stays unchanged. (For a
/// scale of 2^-127 torchao divides by 2^-126, losing a factor of two; this function does not.)
void quantize_mx_row(const MxFormat& format, const float* row_values, std::int64_t row, void* elements, F8E8M0* scales);

}  // namespace tern
