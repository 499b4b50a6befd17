// Exponential moving averages of the trained parameters, like torch.optim.swa_utils.AveragedModel with
// get_ema_multi_avg_fn: a' = a + (1 - decay) (p - a) after each step; the first step copies p.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exporter/builder.h"
#include "exporter/training/parameters.h"

namespace tern {

/// Adds the states average.NAME, float32 for parameters of 16 bits, with the parameters' values.
class WeightAverage {
 public:
  /// `prefix` precedes the name of the count of steps. Parameters with an average share it.
  WeightAverage(Program& program, const std::string& prefix, double decay,
                const std::vector<TrainedParameter>& parameters);
  /// Updates the averages in a function that writes new values of the parameters.
  void add(Builder& b) const;

 private:
  double decay_;
  const std::vector<TrainedParameter>& parameters_;
  std::vector<std::uint32_t> averages_;
  std::uint32_t steps_ = 0;
};

/// Adds the methods forward_ema and loss_ema: forward and loss with the averages instead of the parameters, of which
/// all names read the average.
void add_averaged_methods(Program& program);

}  // namespace tern
