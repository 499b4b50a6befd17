#include "kernels/cpu/reductions/row_loops.h"

namespace tern::rows {
namespace {

struct LoopTables {
  RowLoops<float> f;
  RowLoops<double> d;
};

const LoopTables& loop_tables() {
  static const LoopTables loops = [] {
    LoopTables a{};
    best_level(set_levels)(&a.f, &a.d);
    return a;
  }();
  return loops;
}

}  // namespace

template <>
const RowLoops<float>& loops<float>() {
  return loop_tables().f;
}
template <>
const RowLoops<double>& loops<double>() {
  return loop_tables().d;
}

}  // namespace tern::rows
