#include "kernels/cpu/products/block_quantized/byte_microkernel.h"

#include "dtypes/byte_integers.h"

namespace tern::block_quantized {

bool ByteLoops::supports(const QuantizedMatrix& m) {
  return is_byte_integer(m.element) && m.blocks.bits == 0 && m.blocks.columns == m.columns;
}

const ByteLoops* byte_loops() {
  static const auto loops = best_loops<ByteLoops>(set_byte_loops_levels);
  return loops.dots != nullptr ? &loops : nullptr;
}

}  // namespace tern::block_quantized
