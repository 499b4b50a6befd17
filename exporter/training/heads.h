// Loss at the end of a program, and the loss-only method.
#pragma once

#include <cstdint>
#include <string>

#include "exporter/builder.h"
#include "exporter/training/losses.h"
#include "exporter/training/options.h"

namespace tern {

/// The program's first result, or the result of this name or number. Fails (invalid_argument) unless it is one float.
ValueId require_loss_result(Builder& b, const std::string& result = {});
struct Head {
  ValueId loss = kNoValue, target = kNoValue;
};
/// Adds the loss of the first result and a new input `target`. Sums of 16-bit predictions are float32, against
/// overflow.
Head add_head(Builder& b, const LossRecord& loss, const TrainingOptions& options, Reduction reduction);
/// The mean loss of the first result and a new input `target`; the program's own without `loss`.
ValueId add_head(Builder& b, const LossRecord* loss, const TrainingOptions& options);
/// Adds the method `loss`: function `source`, free of writes, with the loss before its results.
void add_loss_method(Program& program, std::uint32_t source, const LossRecord* loss, const TrainingOptions& options);

}  // namespace tern
