#include "kernels/cpu/fft/stage.h"

#include "dtypes/cpu_level.h"

namespace tern::cpu {
namespace {

struct Tables {
  StageTable<float> f{};
  StageTable<double> d{};
};

const Tables& tables() {
  static const Tables all = [] {
    Tables t;
    switch (cpu_level()) {
#if TERN_X86_LEVELS
      case CpuLevel::avx512: set_stages_avx512(&t.f, &t.d); break;
      case CpuLevel::avx2: set_stages_avx2(&t.f, &t.d); break;
#endif
      default: set_stages_baseline(&t.f, &t.d);
    }
    return t;
  }();
  return all;
}

}  // namespace

StageFn<float> fft_stage_f32(int radix) {
  return tables().f.by_radix[radix];
}
StageFn<double> fft_stage_f64(int radix) {
  return tables().d.by_radix[radix];
}

}  // namespace tern::cpu
