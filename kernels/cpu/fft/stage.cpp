#include "kernels/cpu/fft/stage.h"

namespace tern::cpu {
namespace {

struct StageTables {
  StageTable<float> f{};
  StageTable<double> d{};
};

const StageTables& tables() {
  static const StageTables all = [] {
    StageTables t;
    best_level(set_stages_levels)(&t.f, &t.d);
    return t;
  }();
  return all;
}

}  // namespace

StageFn<float> fft_stage_f32(int radix) {
  return tables().f.stages[radix];
}
StageFn<double> fft_stage_f64(int radix) {
  return tables().d.stages[radix];
}
LargeStageFn<float> fft_large_stage_f32() {
  return tables().f.large_stage;
}
LargeStageFn<double> fft_large_stage_f64() {
  return tables().d.large_stage;
}

}  // namespace tern::cpu
