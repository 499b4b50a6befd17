#include "kernels/cpu/pointwise/loops.h"

namespace tern::pointwise {

const LoopTable& loop_table() {
  static const LoopTable table = [] {
    LoopTable t;
    add_math_loops(t);
    add_complex_loops(t);
    add_special_loops(t);
    add_polynomial_loops(t);
    add_plain_loops_baseline(t);
#if TERN_X86_LEVELS
    const CpuLevel level = cpu_level();
    const bool fma = __builtin_cpu_supports("fma") != 0;
    if (level == CpuLevel::avx2 && fma) add_plain_loops_avx2(t);
    if (level == CpuLevel::avx512 && fma) add_plain_loops_avx512(t);
#endif
    return t;
  }();
  return table;
}

const LoopTable& reproducible_loop_table() {
  static const LoopTable table = [] {
    LoopTable t = loop_table();
#if TERN_X86_LEVELS
    const CpuLevel level = __builtin_cpu_supports("fma") != 0 ? cpu_level() : CpuLevel::baseline;
    if (level != CpuLevel::baseline) add_text_loops_avx2(t);
    if (level == CpuLevel::avx512) add_text_loops_avx512(t);
    if (level != CpuLevel::baseline) return t;
#endif
    add_plain_loops_fused(t);
    add_text_loops_baseline(t);
    return t;
  }();
  return table;
}

}  // namespace tern::pointwise
