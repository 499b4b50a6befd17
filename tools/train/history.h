// What a training run has seen so far: the losses of its steps, and its epochs' figures.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tern::train {

struct EpochFigures {
  double loss = 0;                                         ///< mean over the samples that were trained
  std::optional<double> held_out_loss, held_out_accuracy;  ///< accuracy: 0 to 1, of losses over classes
  double rate = 0;                                         ///< of the last step
  double seconds = 0;                                      ///< of the epoch's steps in this process
};

/// Where a run continues.
struct Position {
  std::uint64_t epoch = 0;  ///< that the next batch belongs to
  std::uint64_t batch = 0;  ///< of the epoch, to be taken next
  std::uint64_t step = 0;   ///< updates so far
};

struct History {
  Position position;
  std::vector<double> losses;        ///< of each step, before its update
  std::vector<EpochFigures> epochs;  ///< those that are complete
  double loss_sum = 0;               ///< of the epoch that is not: of its samples
  std::uint64_t samples = 0;         ///< of that epoch so far
};

}  // namespace tern::train
