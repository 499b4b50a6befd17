// Names of methods, inputs and states of a trainable archive: written by the exporter, read by `tern train`.
// docs/training.md explains them.
#pragma once

#include <string>
#include <string_view>

namespace tern::training {

// Methods.
inline constexpr std::string_view kForward = "forward";  ///< inputs -> prediction, in evaluation mode
inline constexpr std::string_view kLoss = "loss";        ///< inputs, target -> loss, prediction; writes no state
/// Absent with `export --step`, which makes methods of the steps' names.
inline constexpr std::string_view kTrainStep = "train_step";   ///< inputs, target, lr -> loss; updates all states
inline constexpr std::string_view kAccumulate = "accumulate";  ///< inputs, target -> loss; adds gradients to states
inline constexpr std::string_view kApply = "apply";            ///< lr: a step with the mean of the gradients
/// Name of kAccumulate or kApply for a step: accumulate_STEP for a named step.
inline std::string method_of_step(std::string_view method, std::string_view step) {
  return step.empty() || step == kTrainStep ? std::string(method) : std::string(method) + "_" + std::string(step);
}

/// Methods of `export --ema`: forward and loss with the averages of the parameters.
inline constexpr std::string_view kAveragedForward = "forward_ema", kAveragedLoss = "loss_ema";

// Inputs and results.
inline constexpr std::string_view kTarget = "target";
inline constexpr std::string_view kRate = "lr";  ///< float64, no dimensions
inline constexpr std::string_view kLossResult = "loss";
inline constexpr std::string_view kNormResult = "gradient_norm";  ///< before clipping; with clip_norm or gradient_norm

// Prefixes of states added by training.
/// Named steps have optimizer.STEP. instead.
inline constexpr std::string_view kOptimizerState = "optimizer.";  ///< optimizer.step, optimizer.exp_avg.fc1.weight
/// Precedes the selector of a rule with a rate: its factor of `lr`, one float64. A run may change the factor.
inline constexpr std::string_view kRateFactorState = "optimizer.lr_factor.";
inline constexpr std::string_view kMasterState = "optimizer.master.";  ///< float32 values of a 16-bit parameter
inline constexpr std::string_view kLossScaleState = "loss_scale";  ///< after kOptimizerState; of float16, one float32
inline constexpr std::string_view kLossScaleStepsState = "loss_scale_steps";  ///< since its last change
inline constexpr std::string_view kAverageState = "average.";                 ///< average.fc1.weight, of `export --ema`
inline constexpr std::string_view kAveragedStepsState = "averaged_steps";     ///< after kOptimizerState
inline constexpr std::string_view kGradientState =
    "accumulated.";  ///< accumulated.fc1.weight, accumulated.STEP.fc1.weight
inline constexpr std::string_view kBatchesState =
    "accumulated";  ///< number of summed batches; accumulated.STEP of a named step

// Endings of the states of low-rank adapters, after the module: PEFT's.
inline constexpr std::string_view kLoraA = ".lora_A.weight", kLoraB = ".lora_B.weight";

// Metadata of the archive.
inline constexpr std::string_view kLossKey = "training.loss";             ///< "cross_entropy"
inline constexpr std::string_view kClassAxisKey = "training.class_axis";  ///< "1"; of losses over classes alone
inline constexpr std::string_view kOptimizerKey = "training.optimizer";   ///< "adamw"
inline constexpr std::string_view kBucketKey = "training.data_parallel";  ///< "25000000": bytes of a bucket
inline constexpr std::string_view kPrecisionKey = "training.precision";   ///< "bfloat16"
inline constexpr std::string_view kStepsKey = "training.steps";  ///< "critic actor:2": names, and every N batches
inline constexpr std::string_view kAverageKey = "training.ema";  ///< "0.999": decay
inline constexpr std::string_view kRateKey = "training.lr";      ///< "0.001": value of --lr at export
inline constexpr std::string_view kGroupKey =
    "training.group.";  ///< precedes a number: a group of parameters, for people
/// Precedes the module's name. "8 16": rank and alpha; "8 16 fan_in_fan_out" for a weight [in, out].
inline constexpr std::string_view kLoraKey = "training.lora.";
inline constexpr std::string_view kFanInFanOut = " fan_in_fan_out";

}  // namespace tern::training
