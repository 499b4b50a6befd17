// An archive's methods for training, and the roles of their inputs and results.
#pragma once

#include <tern/tern.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::train {

/// A step after the first of a program with several (`export --step`).
struct FurtherStep {
  FunctionInfo function;        ///< inputs of the first step
  std::uint64_t every = 1;      ///< taken with every so manieth batch
  std::size_t loss_result = 0;  ///< position of the loss in its results
};

/// Methods found by the names of exporter/training/methods.h; a user's own step function needs only `step`.
struct Methods {
  FunctionInfo step;        ///< inputs, target and optionally lr -> loss
  bool takes_rate = false;  ///< the last input of `step` is "lr"
  DType rate_type = DType::f64;
  std::size_t rate_axes = 0;               ///< all of size 1
  std::optional<std::size_t> norm_result;  ///< position of the norm of the gradients in the results of `step`
  std::string loss_name;                   ///< value of `tern export --loss`; empty for other step functions
  std::size_t loss_result = 0;             ///< position of the loss in the results of `step`
  std::vector<FurtherStep> further;        ///< taken after `step`, in this order
  std::optional<FunctionInfo> loss;        ///< evaluation; its first result is a single float
  bool accumulates = false;                ///< all steps have methods `accumulate` and `apply`
  bool communicates = false;               ///< `step` has collectives
  bool weighs = false;                     ///< ranks may have parts of different sizes (`export --data-parallel`)
  std::optional<std::int64_t> class_axis;  ///< class axis of a loss over classes
  double rate = 1e-3;                      ///< learning rate given at export
  std::string optimizer;                   ///< the name in `tern export`; empty for other step functions
};

/// Name of a step's `accumulate` or `apply` (`method`): accumulate_STEP of a named step.
std::string method_of(const Model& model, std::string_view method, const std::string& step);

/// Fails (invalid_argument) for a model without step function, explaining the remedy. `name`: the step function's name;
/// empty for "train_step", or the only function.
Methods find_methods(const Model& model, const std::string& name);

}  // namespace tern::train
