#include "kernels/cpu/linalg/lu/loops.h"

namespace tern::cpu::lu {
namespace {

const BothLoops& both() {
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
  return both().f32;
}
template <>
const LuLoops<double>& loops<double>() {
  return both().f64;
}

}  // namespace tern::cpu::lu
