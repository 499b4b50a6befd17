#include "kernels/cpu/products/block_quantized/microkernel.h"

namespace tern::block_quantized {

const BlockQuantizedLoops& loops() {
  static const auto all = best_loops<BlockQuantizedLoops>(set_loops_levels);
  return all;
}

const ElementLoops* BlockQuantizedLoops::of(DType element) const {
  switch (element) {
    case DType::i8: return &i8;
    case DType::u8: return &u8;
    case DType::i4: return &i4;
    case DType::i2: return &i2;
    case DType::f8_e4m3fn: return &f8_e4m3;
    case DType::f8_e5m2: return &f8_e5m2;
    case DType::f6_e2m3: return &f6_e2m3;
    case DType::f6_e3m2: return &f6_e3m2;
    case DType::f4_e2m1: return &f4;
    default: return nullptr;
  }
}

bool BlockQuantizedLoops::takes(const QuantizedMatrix& m) const {
  const std::int64_t step = std::int64_t{lanes} * elements_per_byte(m.element), block = m.blocks.columns;
  return block % step == 0 || (2 * block == step && m.columns % step == 0) || block == m.columns;
}

}  // namespace tern::block_quantized
