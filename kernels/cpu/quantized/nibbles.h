// Dot products of a row with elements of four bits, in integers.
//
// A table turns 64 codes into bytes without sign, and vpdpbusd multiplies them by x, which takes three bytes: x is a
// whole number times a power of two that eight neighbours share. A number loses what lies 2^23 below the largest of
// these eight, as it does when they are added in float32. Sums of eight products are exact.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/quantized/loops.h"

namespace tern::quantized {

/// Eight neighbours share one lane of 32 bits: four elements in low bits of its bytes, four in high ones.
struct alignas(64) NibbleStep {
  static constexpr std::ptrdiff_t kColumns = 128, kBytes = kColumns / 2, kLanes = 16;
  std::int8_t digits[3][2][kBytes];  ///< of x to the base 256, the highest first; of elements in low bits, in high bits
  std::int32_t shift[kLanes];        ///< what makes up for adding `above` to all elements
  float unit[kLanes];                ///< one of x times the elements' unit
};

/// Codes of one type as whole numbers: element = (whole[code] - above) * unit.
struct NibbleType {
  std::uint8_t whole[16];
  std::int32_t above;
  float unit;
};
/// Null where the type has none.
const NibbleType* nibble_type(DType element);

/// Of kMostRows rows of the matrix; `x` of Dots is not read.
struct NibbleDots {
  Dots rows;
  const NibbleStep* x = nullptr;
  const NibbleType* type = nullptr;
};

struct NibbleLoops {
  /// x [columns] in (columns + 127) / 128 steps. False, and nothing usable, where a number is not finite.
  bool (*arrange)(const float* x, std::ptrdiff_t columns, const NibbleType& type, NibbleStep* to) = nullptr;
  /// sums[j] = x times row j.
  void (*dots)(const NibbleDots& d, float* sums) = nullptr;

  /// Blocks of 16, 32, 64 or whole steps of columns, or one block in a row.
  static bool takes(const QuantizedMatrix& m);
};
/// Null where the processor has no AVX512_VBMI and AVX512_VNNI.
const NibbleLoops* nibble_loops();
void set_avx512vbmi(NibbleLoops* loops);

}  // namespace tern::quantized
