#include "kernels/cpu/rows/rows.h"

#include "dtypes/cpu_level.h"

namespace tern::rows {
namespace {

struct All {
  RowLoops<float> f;
  RowLoops<double> d;
};

const All& all() {
  static const All loops = [] {
    All a{};
    TERN_SET_FOR_LEVEL(set, &a.f, &a.d);
    return a;
  }();
  return loops;
}

}  // namespace

template <>
const RowLoops<float>& loops<float>() {
  return all().f;
}
template <>
const RowLoops<double>& loops<double>() {
  return all().d;
}

}  // namespace tern::rows
