// The output of `tern train`.
#pragma once

#include <string>

#include "tools/train/curve.h"
#include "tools/train/trainer.h"

namespace tern::train {

/// "epoch 3/10  loss 0.0412  held-out loss 0.0893, accuracy 97.22 %  lr 0.001  0.42 s"
std::string epoch_text(const History& history, std::uint64_t epochs, const Trainer& trainer);
Curve curve_of(const History& history, std::uint64_t steps_each);
/// A JSON object: every step's loss, every epoch's figures, and the totals.
std::string report_json(const TrainOptions& options, const Trainer& trainer, bool complete);

}  // namespace tern::train
