#include "kernels/cpu/products/block_quantized/nibble_microkernel.h"

namespace tern::block_quantized {

const NibbleType* nibble_type(const QuantizedMatrix& m) {
  static constexpr NibbleType kIntegers{{8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7}, 8, 1};
  // 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives, in halves.
  static constexpr NibbleType kFloats{{12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0}, 12, .5F};
  static constexpr NibbleType kWithoutSign{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 0, 1};
  if (m.blocks.bits != 0) return m.blocks.bits == 4 ? &kWithoutSign : nullptr;
  switch (m.element) {
    case DType::i4: return &kIntegers;
    case DType::f4_e2m1: return &kFloats;
    default: return nullptr;
  }
}

bool NibbleLoops::supports(const QuantizedMatrix& m) {
  const std::int64_t block = m.blocks.columns;
  return nibble_type(m) != nullptr &&
         (block == 16 || block == 32 || block == 64 || block % NibbleStep::kColumns == 0 || block == m.columns);
}

bool NibbleLoops::takes_scales(const QuantizedMatrix& m) {
  const Blocks& b = m.blocks;
  return b.columns == 32 && b.rows == 1 && b.layout == ScaleLayout::plain && !b.outer &&
         (b.scale == DType::bf16 || b.scale == DType::f16 || b.scale == DType::f8_e8m0);
}

const NibbleLoops* nibble_loops() {
  static const auto loops = best_loops<NibbleLoops>(set_nibble_loops_levels);
  return loops.dots != nullptr ? &loops : nullptr;
}

}  // namespace tern::block_quantized
