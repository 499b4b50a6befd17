// Dot products of a row with elements of four bits, in integers.
//
// A table turns 64 codes into bytes without sign, and vpdpbusd multiplies them by x, which takes three bytes: x is a
// whole number times a power of two that eight neighbours share. A number loses what lies 2^23 below the largest of
// these eight, as it does when they are added in float32. Sums of eight products are exact.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/products/block_quantized/microkernel.h"

namespace tern::block_quantized {

/// Eight neighbours share one lane of 32 bits: four elements in low bits of its bytes, four in high ones.
struct alignas(64) NibbleStep {
  static constexpr std::ptrdiff_t kColumns = 128, kBytes = kColumns / 2, kLanes = 16;
  std::int8_t
      digits[3][2][kBytes];  ///< digits of x to the base 256, the highest first: for elements in low bits, in high bits
  std::int32_t shift[kLanes];  ///< corrects adding `above` to all elements
  float unit[kLanes];          ///< the value of a one in x times the elements' unit
};

/// Codes of one type as whole numbers: element = (whole[code] - above) * unit.
struct NibbleType {
  std::uint8_t integers[16];
  std::int32_t offset;
  float unit;
};
/// Null where the type has none.
const NibbleType* nibble_type(const QuantizedMatrix& m);

/// Rows of the matrix in pairs from two places: `count` rows from each, an even number. Rows past `last` are `last`.
struct NibbleRows {
  /// Rows of x that `dots` multiplies by codes that it looks up once.
  static constexpr std::ptrdiff_t kTogether = 4;
  const NibbleStep* x = nullptr;
  std::ptrdiff_t x_rows = 1, x_row = 0;  ///< 1 or kTogether, and the steps of one
  const NibbleType* type = nullptr;
  const std::uint8_t* elements = nullptr;  ///< elements of row 0
  std::ptrdiff_t row_bytes = 0, columns = 0, block = 0;
  std::ptrdiff_t first = 0, second = 0, count = 0, last = 0;
  const std::byte* scales[2] = {};  ///< scales of the rows `first` and `second`
  std::ptrdiff_t scale_bytes = 0;   ///< bytes of a row's scales
  DType scale = DType::f32;
  std::ptrdiff_t ahead = 0;  ///< bytes between what is multiplied and what is asked for
};

struct NibbleLoops {
  /// x [columns] in (columns + 127) / 128 steps. False, and nothing usable, where a number is not finite,
  /// or eight neighbours are all below 2^-105.
  bool (*arrange)(const float* x, std::ptrdiff_t columns, const NibbleType& type, NibbleStep* to) = nullptr;
  /// sums[r] = x times row first + r, sums[count + r] = x times row second + r; 2 * count of them for each row of x.
  /// Bits do not depend on x_rows.
  void (*dots)(const NibbleRows& rows, float* sums) = nullptr;
  /// True if e8m0 scales are normal numbers.
  bool (*normal)(const std::byte* scales, std::ptrdiff_t count) = nullptr;

  /// Blocks of 16, 32, 64 or whole steps of columns, or one block in a row.
  static bool supports(const QuantizedMatrix& m);
  /// True if `dots` reads the scales as they lie; e8m0 scales if they are normal. `dots` reads float32 in any blocks.
  static bool takes_scales(const QuantizedMatrix& m);
  /// True if `dots` takes several rows of x beside scales of this type and block: the usual ones.
  static bool takes_several(DType scale, std::ptrdiff_t block) {
    return scale == DType::bf16 || scale == DType::f16 || (scale == DType::f32 && block == 32);
  }
};
/// Null where the processor has no such loops.
const NibbleLoops* nibble_loops();
TERN_LEVEL_FUNCTIONS(nibble_digits, set_nibble_loops, NibbleLoops* loops)

}  // namespace tern::block_quantized
