// Options of `tern export --train`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exporter/optimizers/options.h"
#include "exporter/training/parameter_rules.h"
#include "exporter/training/step_rules.h"

namespace tern {

/// Selects linear weights for low-rank adapters.
struct LoraRule {
  std::string pattern;  ///< shell pattern (* ? []) for the weight's name with or without ".weight"
  std::int64_t rank = 8;
  double alpha = 8;
};

struct TrainingOptions {
  std::string loss =
      "cross_entropy";          ///< a name of exporter/training/losses.h; "none": the program's own scalar result
  std::int64_t class_axis = 1;  ///< axis of the prediction; losses over classes alone
  double label_smoothing = 0;   ///< cross_entropy alone
  optimizers::OptimizerOptions optimizer = optimizers::options_for(optimizers::Optimizer::adamw);
  std::optional<double> clip_norm;   ///< torch.nn.utils.clip_grad_norm_ over all gradients
  std::optional<double> clip_value;  ///< torch.nn.utils.clip_grad_value_
  /// Shell patterns (* ? []) for the names of frozen parameters. A pattern without a match is an error.
  std::vector<std::string> freeze;
  /// Parameter groups: other settings for some parameters.
  std::vector<ParameterRule> rules;
  /// Not empty: several methods with steps instead of train_step, each with its loss, parameters and optimizer.
  std::vector<StepRule> steps;
  std::string step;         ///< name of one of them, for its method; empty: train_step
  std::string loss_result;  ///< name or number of the result with the loss, without `loss`; empty: the first
  /// Not empty: trains adapters alone.
  std::vector<LoraRule> lora;
  std::uint64_t lora_seed = 0;
  /// Several ranks share each batch: the methods communicate, and gradients travel in messages of at most so many
  /// bytes.
  std::optional<std::uint64_t> bucket;
  /// bfloat16 or float16: products of float32 compute in it (mixed_precision.h), and parameters of 16 bits get float32
  /// masters. float16 scales the loss (loss_scale.h). invalid: as exported.
  DType precision = DType::invalid;
  double loss_scale = 65536;          ///< the first scale, for float16
  std::optional<double> ema;          ///< decay of averages of the parameters (average.h)
  bool gradient_norm = false;         ///< the steps return the norm of the gradients, also without clip_norm
  std::vector<double> class_weights;  ///< weights of a loss over classes, or pos_weight of bce_with_logits; empty: 1
  bool accumulate = false;            ///< also the methods `accumulate` and `apply`: a step over several batches
};

}  // namespace tern
