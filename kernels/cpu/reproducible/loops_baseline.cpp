// For any processor: the C library fuses where the processor does not.
#define TERN_SET_LOOPS set_baseline
#include "dtypes/cpu_level.h"
#include "kernels/cpu/reproducible/loops.inc"

namespace tern::reproducible {

const Loops& loops() {
  static const Loops made = [] {
    Loops l{};
    TERN_SET_FOR_LEVEL(set, &l);
    return l;
  }();
  return made;
}

}  // namespace tern::reproducible
