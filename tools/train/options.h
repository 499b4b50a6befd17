// Options of `tern train`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/train/group_rates.h"

namespace tern::train {

struct TrainOptions {
  std::string model, data, output, forward, adapters, held_out_data, method;
  std::uint64_t epochs = 1, steps = 0;  ///< steps: upper limit; 0: no limit
  std::uint64_t batch = 32, accumulate = 1;
  double held_out = 0;                        ///< share of the samples
  std::string held_out_name;                  ///< held_out_data as given to all ranks: with {rank}
  std::map<std::string, std::string> arrays;  ///< names of arrays by input
  bool shuffle = true, drop_last = false, cast = false;
  std::uint64_t seed = 0;
  std::optional<double> rate;
  std::string schedule = "constant";
  GroupRateOptions groups;
  std::uint64_t warmup = 0;
  std::string checkpoints;  ///< folder; empty: OUTPUT.checkpoints, used only on Ctrl-C
  std::uint64_t every = 0;  ///< steps between checkpoints; 0: at the end of each epoch
  bool resume = false;
  std::uint64_t patience = 0;        ///< epochs without a better held-out loss that end the run; 0: never
  std::vector<std::string> metrics;  ///< figures of held-out samples (scores.h)
  std::string tensorboard;           ///< folder of event files; empty: none
  std::string plot;
  bool json = false;
  bool graph = false;  ///< steps are captured once and replayed
};

}  // namespace tern::train
