#include "kernels/cpu/planes/loops.h"

namespace tern::planes {

const PlaneLoops& plane_loops() {
  static const PlaneLoops loops = [] {
    PlaneLoops l;
    best_level(set_levels)(&l);
    return l;
  }();
  return loops;
}

}  // namespace tern::planes
