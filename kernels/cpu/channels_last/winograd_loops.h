// Transforms of Winograd convolutions, compiled once for each instruction set.
#pragma once

#include <cstddef>

#include "kernels/cpu/products/float32/strided_microkernel.h"

namespace tern::channels_last {

/// Destination of a tile's results. Rows from `rows` on and columns from `columns` on are dropped.
struct TileResults {
  float* y = nullptr;
  std::ptrdiff_t line = 0, position = 0;  ///< floats between lines and positions
  int rows = 0, columns = 0, channels = 0;
  strided_product::RegisterEpilogue finish;  ///< `add` is for y's first element
};

/// A tile has kTile by kTile results from kTransformed by kTransformed inputs, and as many transformed elements:
/// element e is in row e / kTransformed and column e % kTransformed.
constexpr int kTile = 4, kTransformed = kTile + 2;
struct WinogradLoops {
  /// to[e * step + c] of `channels` channels, at least a vector, from x[e].
  void (*input)(const float* const* x, std::ptrdiff_t channels, float* to, std::ptrdiff_t step) = nullptr;
  /// to[e * step + c * columns + j] from panel[c * channel + tap * columns + j]; columns as in MicroKernels.
  void (*weight)(const float* panel, std::ptrdiff_t channel, std::ptrdiff_t channels, float* to,
                 std::ptrdiff_t step) = nullptr;
  /// Computes a tile's results from sums[e * step + j]. Returns 0, or NaN if a sum is not finite.
  float (*output)(const float* sums, std::ptrdiff_t step, const TileResults& to) = nullptr;
};

}  // namespace tern::channels_last
