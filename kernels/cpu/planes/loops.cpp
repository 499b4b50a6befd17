#include "kernels/cpu/planes/loops.h"

#include "dtypes/cpu_level.h"

namespace tern::planes {

const PlaneLoops& plane_loops() {
  static const PlaneLoops loops = [] {
    PlaneLoops l;
    set_baseline(&l);
#if TERN_X86_LEVELS
    const CpuLevel level = cpu_level();
    if (level == CpuLevel::avx2) set_avx2(&l);
    if (level == CpuLevel::avx512) set_avx512(&l);
#endif
    return l;
  }();
  return loops;
}

}  // namespace tern::planes
