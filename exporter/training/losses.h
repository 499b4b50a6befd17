// Losses that `tern export --train` puts on a program's prediction.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "exporter/builder.h"
#include "exporter/training/options.h"

namespace tern {

struct LossRecord {
  std::string_view name;       ///< of --loss
  std::string_view operation;  ///< ATen's, whose lowering computes it
  bool classes = false;        ///< the target holds class numbers: int64, without the prediction's class axis
};

/// Over all elements, or targets that are not ignored.
enum class Reduction : std::uint8_t { mean = 1, sum = 2 };  // PyTorch's numbers

/// All of them, without "none".
std::span<const LossRecord> losses();
/// Null for "none"; fails (invalid_argument) on a name that is none of them.
const LossRecord* find_loss(std::string_view name);

/// The type of the target for such a prediction. Fails where the prediction has no class axis.
TensorType target_type(const LossRecord& loss, const TensorType& prediction, const TrainingOptions& options);
/// The loss, of no dimensions: PyTorch's function with that reduction.
ValueId add_loss(Builder& b, const LossRecord& loss, ValueId prediction, ValueId target, const TrainingOptions& options,
                 Reduction reduction = Reduction::mean);

}  // namespace tern
