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
    set_baseline(&a.f, &a.d);
#if TERN_X86_LEVELS
    const CpuLevel level = cpu_level();
    if (level == CpuLevel::avx2) set_avx2(&a.f, &a.d);
    if (level == CpuLevel::avx512) set_avx512(&a.f, &a.d);
#endif
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
