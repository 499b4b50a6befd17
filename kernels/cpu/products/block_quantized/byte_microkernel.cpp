#include "kernels/cpu/products/block_quantized/byte_microkernel.h"

#include "dtypes/byte_integers.h"
#include "kernels/cpu/levels.h"

namespace tern::quantized {

bool ByteLoops::takes(const QuantizedMatrix& m) {
  return is_byte_integer(m.element) && m.blocks.columns == m.columns;
}

const ByteLoops* byte_loops() {
#if TERN_X86_LEVELS
  static const ByteLoops loops = [] {
    ByteLoops l;
    if (cpu_level() == CpuLevel::avx512 && __builtin_cpu_supports("avx512vnni") != 0) set_avx512vnni(&l);
    return l;
  }();
  return loops.dots != nullptr ? &loops : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace tern::quantized
