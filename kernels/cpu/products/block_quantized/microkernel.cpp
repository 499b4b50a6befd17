#include "kernels/cpu/products/block_quantized/microkernel.h"

namespace tern::block_quantized {

const BlockQuantizedLoops& loops() {
  static const auto all = best_loops<BlockQuantizedLoops>(set_loops_levels);
  return all;
}

const ElementLoops* BlockQuantizedLoops::element_loops(const QuantizedMatrix& m) const {
  const bool has_sign = m.element == DType::i8;
  switch (m.blocks.bits) {
    case 0: break;
    case 4: return &low4;
    case 5: return has_sign ? &i5 : &u5;
    default: return has_sign ? &i6 : &u6;
  }
  switch (m.element) {
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

bool BlockQuantizedLoops::supports(const QuantizedMatrix& m) const {
  const std::int64_t step = std::int64_t{lanes} * m.together(), block = m.blocks.columns;
  const bool whole_row = block == m.columns && m.blocks.planes() == 0;
  return block % step == 0 || (2 * block == step && m.columns % step == 0) || whole_row;
}

}  // namespace tern::block_quantized
