// The numbers of a step common to all elements, derived from a kind's options and the step number.
#pragma once

#include <array>
#include <cstdint>

#include "schema/kinds.h"

namespace tern::cpu {

/// Options from a node or another caller.
struct OptimOptions {
  OptimKind kind{};
  std::array<double, 6> hyper{};  ///< OptimRecord::hyper
  bool nesterov = false, first = false, advance = false, decoupled = false, maximize = false;
};

/// Values of the single-number operands.
struct OptimNumbers {
  double step = 1, product = 1;
  double lr = 0;  ///< effective rate
};

/// Numbers of a step for the loops. The portable definition has the same formulas
/// (kernels/portable/text/optim_settings.inc).
struct OptimSettings {
  double rate = 0, second = 0, correction = 1, third = 0;
  double step = 0, product = 1;  ///< advanced values
};
OptimSettings optim_settings(const OptimOptions& o, const OptimNumbers& n);

}  // namespace tern::cpu
