// Identifies a cone's optimizer and options: evaluates the cone on chosen numbers, independent of operator patterns,
// and confirms the result on other numbers.
#pragma once

#include <optional>
#include <vector>

#include "exporter/optimizers/cone.h"
#include "schema/optim.h"

namespace tern::optimizers {

struct Fit {
  OptimKind kind{};
  std::vector<double> hyper;  ///< as OptimRecord::hyper
  std::int64_t mode = 0;
  /// State number of the cone for m, v and third, or -1.
  std::array<int, 3> states{-1, -1, -1};
};

/// Empty for cones other than SGD, Adam, AdamW, Adagrad, RMSprop, Adadelta, Adamax, NAdam, Rprop and Lion, or with
/// numbers of a type other than the parameter's.
std::optional<Fit> fit_cone(const Function& f, const Cone& cone);

/// Decimal number of at most nine digits within a relative 1e-10 of x; else x.
double roundest(double x);

}  // namespace tern::optimizers
