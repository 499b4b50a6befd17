// The loops for any processor, and the choice among them.
#define TERN_SET_LOOPS set_baseline
#define TERN_LANES 4
#include "dtypes/cpu_level.h"
#include "kernels/cpu/channels_last/loops.inc"

namespace tern::channels_last {

const Loops& loops() {
  static const Loops chosen = [] {
    Loops l;
    set_baseline(&l);
#if TERN_X86_LEVELS
    if (cpu_level() == CpuLevel::avx2) set_avx2(&l);
    if (cpu_level() == CpuLevel::avx512) set_avx512(&l);
#endif
    return l;
  }();
  return chosen;
}

}  // namespace tern::channels_last
