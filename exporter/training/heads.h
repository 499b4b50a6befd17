// The loss at the end of a program, and the method that only computes it.
#pragma once

#include <cstdint>

#include "exporter/builder.h"
#include "exporter/training/losses.h"
#include "exporter/training/options.h"

namespace tern {

/// The program's first result. Fails (invalid_argument) where it is not one float.
ValueId own_loss(Builder& b);
struct Head {
  ValueId loss = kNoValue, target = kNoValue;
};
/// The loss of the first result and a new input `target`. Sums of 16-bit predictions are float32: they could overflow.
Head add_head(Builder& b, const LossRecord& loss, const TrainingOptions& options, Reduction reduction);
/// The mean loss of the first result and a new input `target`; the program's own without `loss`.
ValueId add_head(Builder& b, const LossRecord* loss, const TrainingOptions& options);
/// The method `loss`: function `source`, which changes nothing, with the loss before its results.
void add_loss_method(Program& program, std::uint32_t source, const LossRecord* loss, const TrainingOptions& options);

}  // namespace tern
