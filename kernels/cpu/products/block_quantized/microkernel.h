// The innermost loops over quantized matrices, compiled once for each instruction set: dot products that read elements
// in their own bits, and rows of numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtypes/blocks.h"
#include "dtypes/levels.h"

namespace tern::block_quantized {

constexpr int kMostRows = 4;  ///< rows of x, and of the matrix

/// Rows of the matrix, a few of them, and rows of x in the order of `arrange`.
struct Dots {
  const float* x = nullptr;
  std::ptrdiff_t x_row = 0;                      ///< floats between rows of x
  const std::uint8_t* elements[kMostRows] = {};  ///< the elements of each row
  const float* scales[kMostRows] = {};           ///< a scale for each block
  std::ptrdiff_t columns = 0, block = 0;
  std::ptrdiff_t ahead = 0;  ///< bytes between what is multiplied and what is asked for
};
/// sums[i * kMostRows + j] = row i of x times row j.
using DotsLoop = void (*)(const Dots& d, float* sums);

/// Loops over elements of a type.
struct ElementLoops {
  DotsLoop dots[kMostRows] = {};  ///< indexed by rows of x
  /// The numbers of elements [0, count) of a run, which begins with a byte, without scale.
  void (*numbers)(const std::uint8_t* elements, std::ptrdiff_t count, float* to) = nullptr;
  int together = 1;  ///< elements in a byte
};

struct BlockQuantizedLoops {
  int lanes = 0;
  /// x [columns] as `dots` reads it, with zeros up to arranged_size. `together`: elements of the matrix in a byte.
  void (*arrange)(const float* x, std::ptrdiff_t columns, int together, float* to) = nullptr;
  /// Sums of each block of x.
  void (*block_sums)(const float* x, std::ptrdiff_t columns, std::ptrdiff_t block, float* to) = nullptr;
  /// Elements of whole blocks become numbers. `zeros` may be null where there are none.
  void (*apply)(float* x, const float* scales, const float* zeros, std::ptrdiff_t blocks, std::ptrdiff_t block,
                ZeroPoint kind) = nullptr;
  /// Adds `value` to each of `count` numbers whose bit is set, eight in a byte.
  void (*add_plane)(const std::uint8_t* bits, std::ptrdiff_t count, float value, float* to) = nullptr;
  ElementLoops i8, u8, i4, i2, f8_e4m3, f8_e5m2, f6_e2m3, f6_e3m2, f4;
  ElementLoops low4;            ///< the low four bits of elements with planes: they are elements without planes
  ElementLoops u5, i5, u6, i6;  ///< elements with planes; `numbers` is null

  const ElementLoops* element_loops(const QuantizedMatrix& m) const;
  /// True if `dots` takes blocks of so many columns: whole steps, halves of one, or one block in a row.
  bool supports(const QuantizedMatrix& m) const;
  std::ptrdiff_t arranged_size(std::ptrdiff_t columns, int together) const {
    const std::ptrdiff_t step = std::ptrdiff_t{lanes} * together;
    return (columns + step - 1) / step * step;
  }
};
/// The loops of this processor.
const BlockQuantizedLoops& loops();

TERN_LEVEL_FUNCTIONS(vectors, set_loops, BlockQuantizedLoops* loops)

}  // namespace tern::block_quantized
