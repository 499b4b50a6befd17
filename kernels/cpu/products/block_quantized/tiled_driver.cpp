#include "kernels/cpu/products/block_quantized/tiled_driver.h"

namespace tern::cpu {

void multiply_quantized(const quantized::Product& p, const amx::Linear* tiles) {
  const bool done =
      tiles != nullptr &&
      tiles->run({.x = p.x, .weight = p.weight, .bias = p.bias, .y = p.y, .finish = p.finish, .quantized = &p.matrix},
                 nullptr);
  if (!done) quantized::multiply(p);  // a result is not finite
}

void multiply_quantized(const quantized::Product& p) {
  const amx::LinearShape shape = tile_shape(p);
  if (p.m <= quantized::kFewRows || !amx::Linear::suits(shape)) return quantized::multiply(p);
  const amx::Linear tiles(shape);
  multiply_quantized(p, &tiles);
}

}  // namespace tern::cpu
