// Which optimizer a cone is, and with which options: found by running it on chosen numbers, so that no pattern of
// operators has to be known, and compared on others before it is believed.
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
  /// For m, v and third: the number of the cone's state, or -1.
  std::array<int, 3> states{-1, -1, -1};
};

/// Nothing if the cone is none of SGD, Adam, AdamW, Adagrad, RMSprop, Adadelta, Adamax, NAdam, Rprop and Lion, or has
/// numbers in another type than its parameter.
std::optional<Fit> fit_cone(const Function& f, const Cone& cone);

/// A decimal number of at most nine digits that lies within 1e-10 of x, relatively; else x.
double roundest(double x);

}  // namespace tern::optimizers
