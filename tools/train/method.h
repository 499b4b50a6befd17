// The methods of an archive that training calls, and what their places mean.
#pragma once

#include <tern/tern.h>

#include <optional>
#include <string>

namespace tern::train {

/// Found by the names of exporter/training/methods.h; an archive that a user exported as a step function need only have
/// `step`.
struct Methods {
  FunctionInfo step;        ///< inputs, target and maybe lr -> loss
  bool takes_rate = false;  ///< `step` has an input "lr", the last one
  DType rate_type = DType::f64;
  std::size_t rate_axes = 0;               ///< all of size 1
  std::size_t loss_result = 0;             ///< of `step`
  std::optional<FunctionInfo> loss;        ///< evaluation; its first result is one float
  bool accumulates = false;                ///< there are `accumulate` and `apply`
  bool communicates = false;               ///< `step` has collectives
  bool weighs = false;                     ///< ranks may have parts of other sizes (`export --data-parallel`)
  std::optional<std::int64_t> class_axis;  ///< of a loss over classes
  double rate = 1e-3;                      ///< what export was given
  std::string optimizer;                   ///< as `tern export` names it; empty for others' step functions
};

/// Fails (invalid_argument) where the model has no step function, and says how to make one. `name`: the step
/// function's; empty for "train_step", or the only one.
Methods find_methods(const Model& model, const std::string& name);

}  // namespace tern::train
