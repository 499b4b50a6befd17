#include "kernels/cpu/linalg/lanes/loops.h"

namespace tern::cpu::lanes {
namespace {

struct All {
  LaneLoops<float> f;
  LaneLoops<double> d;
};

const All& all() {
  static const All loops = [] {
    All a{};
    best_level(set_levels)(&a.f, &a.d);
    return a;
  }();
  return loops;
}

}  // namespace

template <>
const LaneLoops<float>& loops<float>() {
  return all().f;
}
template <>
const LaneLoops<double>& loops<double>() {
  return all().d;
}

}  // namespace tern::cpu::lanes
