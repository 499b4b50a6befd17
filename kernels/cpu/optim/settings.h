// The numbers of a step that are the same for all elements: what a kind makes of its options and of the step's number.
#pragma once

#include <array>
#include <cstdint>

#include "schema/kinds.h"

namespace tern::cpu {

/// Of a node, or of a caller without one.
struct OptimOptions {
  OptimKind kind{};
  std::array<double, 6> hyper{};  ///< OptimRecord::hyper
  bool nesterov = false, first = false, advance = false, decoupled = false, maximize = false;
};

/// What the operands of one number hold.
struct OptimNumbers {
  double step = 1, product = 1;
  double lr = 0;  ///< in effect
};

/// Of one step, for the loops. The definition has the same formulas (kernels/portable/text/optim_settings.inc).
struct OptimSettings {
  double rate = 0, second = 0, correction = 1, third = 0;
  double step = 0, product = 1;  ///< their new values
};
OptimSettings optim_settings(const OptimOptions& o, const OptimNumbers& n);

}  // namespace tern::cpu
