#include "kernels/cpu/products/block_quantized/tiled_driver.h"

namespace tern::cpu {

void multiply_quantized(const block_quantized::BlockQuantizedProduct& p, const tiles::SplitLinear* tiles) {
  const bool done =
      tiles != nullptr &&
      tiles->run({.x = p.x, .weight = p.weight, .bias = p.bias, .y = p.y, .finish = p.finish, .quantized = &p.matrix},
                 nullptr);
  if (!done) block_quantized::multiply(p);  // a result is not finite
}

void multiply_quantized(const block_quantized::BlockQuantizedProduct& p) {
  const tiles::TileLinearShape shape = tile_shape(p);
  if (p.m <= block_quantized::kFewRows || !tiles::SplitLinear::suits(shape)) return block_quantized::multiply(p);
  const tiles::SplitLinear tiles(shape);
  multiply_quantized(p, &tiles);
}

}  // namespace tern::cpu
