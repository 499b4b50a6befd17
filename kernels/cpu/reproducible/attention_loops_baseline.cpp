// For any processor.
#define TERN_SET_LOOPS set_baseline
#define TERN_BYTES 16
#define TERN_REGISTERS 1
#include "dtypes/cpu_level.h"
#include "kernels/cpu/reproducible/attention_loops.inc"

namespace tern::reproducible {

const AttentionLoops& attention_loops() {
  static const AttentionLoops made = [] {
    AttentionLoops l{};
    set_baseline(&l);
#if TERN_X86_LEVELS
    const CpuLevel level = cpu_level();
    if (level == CpuLevel::avx2) set_avx2(&l);
    if (level == CpuLevel::avx512) set_avx512(&l);
#endif
    return l;
  }();
  return made;
}

}  // namespace tern::reproducible
