#include "kernels/cpu/linalg/lu/loops.h"

namespace tern::cpu::lu {
namespace {

const BothLoops& both_loops() {
  static const BothLoops loops = [] {
    BothLoops b;
    best_level(set_levels)(&b);
    return b;
  }();
  return loops;
}

}  // namespace

template <>
const LuLoops<float>& loops<float>() {
  return both_loops().f32;
}
template <>
const LuLoops<double>& loops<double>() {
  return both_loops().f64;
}

}  // namespace tern::cpu::lu
