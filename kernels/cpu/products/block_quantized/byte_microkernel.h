// Dot products of a row with elements of eight bits and one scale for each row of the matrix, in integers.
//
// An instruction (as in nibble_microkernel.h) multiplies elements without sign by x in three bytes. Sixteen numbers of
// x share a power of two: four neighbours in each of four steps, so that 256 columns are added up before they become
// floats. On aarch64 elements have signs, registers are a quarter as wide, and 64 numbers share a power of two.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>

#include "dtypes/blocks.h"
#include "dtypes/levels.h"

namespace tern::block_quantized {

struct alignas(64) ByteSteps {
#if defined(__aarch64__)
  static constexpr std::ptrdiff_t kStep = 16, kSteps = 16, kLanes = 4;
#else
  static constexpr std::ptrdiff_t kStep = 64, kSteps = 4, kLanes = 16;
#endif
  static constexpr std::ptrdiff_t kColumns = kStep * kSteps;
  std::int8_t digits[kSteps][3][kStep];  ///< digits of x to the base 256, the highest first
  std::int32_t shift[3][kLanes];         ///< corrects the flipped sign of elements, for each digit
  float unit[kLanes];                    ///< the value of a one in x
};

/// Rows of the matrix in pairs from two places, as NibbleRows. Sums are without the rows' scales.
struct ByteRows {
  const ByteSteps* x = nullptr;
  bool is_signed = false;
  const std::uint8_t* elements = nullptr;  ///< elements of row 0
  std::ptrdiff_t columns = 0;
  std::ptrdiff_t first = 0, second = 0, count = 0, last = 0;
  std::ptrdiff_t ahead = 0;  ///< bytes between what is multiplied and what is asked for
};

struct ByteLoops {
  /// x [columns] in (columns + 255) / 256 steps. False, and nothing usable, where a number is not finite, or numbers
  /// that share a power of two are all below 2^-100.
  bool (*arrange)(const float* x, std::ptrdiff_t columns, bool is_signed, ByteSteps* to) = nullptr;
  /// sums[r] = x times row first + r, sums[count + r] = x times row second + r.
  void (*dots)(const ByteRows& rows, float* sums) = nullptr;

  static bool supports(const QuantizedMatrix& m);
};
/// Null where the processor has no such loops.
const ByteLoops* byte_loops();
TERN_LEVEL_FUNCTIONS(byte_digits, set_byte_loops, ByteLoops* loops)

}  // namespace tern::block_quantized
