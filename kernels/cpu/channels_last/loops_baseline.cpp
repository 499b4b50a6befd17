// The loops for any processor, and the choice among them.
#define TERN_SET_LOOPS set_baseline
#include "dtypes/cpu_level.h"
#include "kernels/cpu/channels_last/loops.inc"

namespace tern::channels_last {

const Loops& loops() {
  static const Loops chosen = [] {
    Loops l;
    TERN_SET_FOR_LEVEL(set, &l);
    return l;
  }();
  return chosen;
}

}  // namespace tern::channels_last
