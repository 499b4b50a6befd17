#include "kernels/cpu/linalg/lanes/loops.h"

namespace tern::cpu::lanes {
namespace {

const AllLoops& all_loops() {
  static const AllLoops loops = [] {
    AllLoops a;
    best_level(set_real_levels)(&a);
    best_level(set_complex_levels)(&a);
    return a;
  }();
  return loops;
}

}  // namespace

template <>
const LaneLoops<float>& loops<float>() {
  return all_loops().f32;
}
template <>
const LaneLoops<double>& loops<double>() {
  return all_loops().f64;
}
template <>
const LaneLoops<std::complex<float>>& loops<std::complex<float>>() {
  return all_loops().c64;
}
template <>
const LaneLoops<std::complex<double>>& loops<std::complex<double>>() {
  return all_loops().c128;
}

}  // namespace tern::cpu::lanes
