// For any processor: the C library fuses where the processor does not.
#define TERN_SET_LOOPS set_baseline
#include "dtypes/cpu_level.h"
#include "kernels/cpu/reproducible/loops.inc"

namespace tern::reproducible {

const Loops& loops() {
  static const Loops made = [] {
    Loops l{};
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
