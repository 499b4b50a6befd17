#include "kernels/cpu/planes/loops.h"

#include "dtypes/cpu_level.h"

namespace tern::planes {

const PlaneLoops& plane_loops() {
  static const PlaneLoops loops = [] {
    PlaneLoops l;
    TERN_SET_FOR_LEVEL(set, &l);
    return l;
  }();
  return loops;
}

}  // namespace tern::planes
