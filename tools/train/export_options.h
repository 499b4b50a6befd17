// The options of `tern export` for trainable archives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exporter/training/add_training.h"
#include "tools/options.h"

namespace tern {

struct TrainArguments {
  bool train = false, accumulate = false, gradient_norm = false, data_parallel = false;
  std::string loss, optimizer, activation_memory, bucket;
  std::optional<long> class_axis;
  std::optional<double> label_smoothing, clip_norm, clip_value, loss_scale, ema;
  std::vector<double> class_weights;
  std::optional<double> lr, weight_decay, momentum, dampening, eps;
  std::vector<double> betas;
  bool nesterov = false, amsgrad = false;
  std::vector<std::string> freeze, lora, params, steps;
  std::optional<std::uint64_t> lora_seed;
};

/// Adds --train and its dependent options.
void add_train_options(Command command, TrainArguments& arguments);
/// Empty without --train. Fails (invalid_argument) for a wrong option, or a dependent option without --train.
std::optional<TrainingOptions> parse_train(const TrainArguments& arguments);

/// Fails (invalid_argument) if --loss-scale is given without --precision float16.
void check_loss_scale(const TrainArguments& arguments, DType precision);

/// "trains 12 parameters, 38,378 elements, with adamw on cross_entropy; ..." for people.
std::string training_text(const TrainingOptions& options, const TrainingReport& report);

}  // namespace tern
