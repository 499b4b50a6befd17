// The transforms of Winograd convolutions, compiled once for each instruction set.
#pragma once

#include <cstddef>

#include "kernels/cpu/products/float32/strided_microkernel.h"

namespace tern::channels_last {

/// Where a tile's results go. Those of rows and columns from `rows` and `columns` on are not wanted.
struct TileResults {
  float* y = nullptr;
  std::ptrdiff_t line = 0, position = 0;  ///< floats between lines and positions
  int rows = 0, columns = 0, channels = 0;
  strided_product::Finish finish;  ///< `add` is for y's first element
};

/// A tile has kTile by kTile results of kTransformed by kTransformed inputs, and as many elements when it is
/// transformed: element e is the one in row e / kTransformed and column e % kTransformed.
constexpr int kTile = 4, kTransformed = kTile + 2;
struct WinogradLoops {
  /// to[e * step + c] of `channels` channels, a register of them at least, from those at x[e].
  void (*input)(const float* const* x, std::ptrdiff_t channels, float* to, std::ptrdiff_t step) = nullptr;
  /// to[e * step + c * columns + j] from panel[(c * 9 + tap) * columns + j]; columns as MicroKernels has.
  void (*weight)(const float* panel, std::ptrdiff_t channels, float* to, std::ptrdiff_t step) = nullptr;
  /// A tile's results from sums[e * step + j]. Returns 0, or a NaN where a sum is not finite.
  float (*output)(const float* sums, std::ptrdiff_t step, const TileResults& to) = nullptr;
};

}  // namespace tern::channels_last
