// A step of an optimizer over a run of adjacent elements of a single type.
#pragma once

#include <cstdint>

#include "dtypes/levels.h"
#include "kernels/cpu/optim/settings.h"

namespace tern::cpu {

/// Operands and results of a step. Results may overwrite their operands; absent operands and results are null.
template <class T>
struct OptimRun {
  const T *param = nullptr, *grad = nullptr, *m = nullptr, *v = nullptr, *third = nullptr;
  T *new_param = nullptr, *new_m = nullptr, *new_v = nullptr, *new_third = nullptr;
  std::int64_t count = 0;
};

TERN_LEVEL_FUNCTIONS(narrow_vectors, optim_floats, const OptimOptions& o, const OptimSettings& s,
                     const OptimRun<float>& run)
TERN_LEVEL_FUNCTIONS(narrow_vectors, optim_doubles, const OptimOptions& o, const OptimSettings& s,
                     const OptimRun<double>& run)

}  // namespace tern::cpu
