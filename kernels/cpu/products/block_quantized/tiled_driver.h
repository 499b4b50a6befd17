// Rows of float32 times a quantized matrix, on tiles where the processor has them.
#pragma once

#include "kernels/cpu/products/block_quantized/driver.h"
#include "kernels/cpu/products/tiles/split_driver.h"

namespace tern::cpu {

/// The shape of a product of m rows.
inline tiles::TileLinearShape tile_shape(const block_quantized::BlockQuantizedProduct& p) {
  const std::int64_t k = p.matrix.columns;
  return {p.m, p.n, k, k, k, tiles::kAllParts};
}

/// `tiles` are of tile_shape, or null where they do not pay. On several threads; the matrix is read in its own bits.
void multiply_quantized(const block_quantized::BlockQuantizedProduct& p, const tiles::SplitLinear* tiles);
/// The same for rows whose number is not known before.
void multiply_quantized(const block_quantized::BlockQuantizedProduct& p);

}  // namespace tern::cpu
