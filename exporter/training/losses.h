// Losses of `tern export --train` over a program's prediction.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "exporter/builder.h"
#include "exporter/training/options.h"

namespace tern {

struct LossRecord {
  std::string_view name;       ///< of --loss
  std::string_view operation;  ///< ATen operator; its lowering computes the loss
  bool classes = false;        ///< the target holds class numbers: int64, without the prediction's class axis
};

/// Reduction over all elements, or over targets not ignored.
enum class Reduction : std::uint8_t { mean = 1, sum = 2 };  // PyTorch's numbers

/// All losses, without "none".
std::span<const LossRecord> losses();
/// Null for "none"; fails (invalid_argument) on unknown names.
const LossRecord* find_loss(std::string_view name);

/// Type of the target for a prediction. Fails if the prediction has no class axis.
TensorType target_type(const LossRecord& loss, const TensorType& prediction, const TrainingOptions& options);
/// Scalar loss: PyTorch's function with the reduction.
ValueId add_loss(Builder& b, const LossRecord& loss, ValueId prediction, ValueId target, const TrainingOptions& options,
                 Reduction reduction = Reduction::mean);

}  // namespace tern
