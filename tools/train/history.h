// Progress of a training run: the losses of its steps, and its epochs' figures.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tern::train {

struct EpochFigures {
  double loss = 0;                                         ///< mean over the trained samples
  std::optional<double> held_out_loss, held_out_accuracy;  ///< accuracy: 0 to 1, of losses over classes
  double rate = 0;                                         ///< learning rate of the last step
  double seconds = 0;                                      ///< time of the epoch's steps in this process
  std::vector<double> metrics;                             ///< figures of --metric, in its order
};

/// Position to continue a run.
struct Position {
  std::uint64_t epoch = 0;  ///< epoch of the next batch
  std::uint64_t batch = 0;  ///< number of the next batch in the epoch
  std::uint64_t step = 0;   ///< updates so far
};

struct History {
  Position position;
  std::vector<double> losses;  ///< loss of each step, before its update
  /// Losses of each further step of a turn, one for each step of the run; NaN where it was left out.
  std::vector<std::vector<double>> further_losses;
  std::vector<double> gradient_norms;  ///< norm before clipping, step by step; empty if the steps return none
  std::vector<EpochFigures> epochs;    ///< complete epochs
  double loss_sum = 0;                 ///< sum over the samples of the current epoch
  std::uint64_t samples = 0;           ///< samples of the current epoch so far
};

}  // namespace tern::train
