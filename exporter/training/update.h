// Optimizer of a training step: its states, and new values of the parameters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exporter/builder.h"
#include "exporter/training/average.h"
#include "exporter/training/loss_scale.h"
#include "exporter/training/options.h"
#include "exporter/training/parameters.h"

namespace tern {

/// Serves all methods with steps: they share the optimizer's states.
class Update {
 public:
  /// `scale`: the scale of the loss, and so of gradients; null without.
  Update(Program& program, const TrainingOptions& options, const std::vector<TrainedParameter>& parameters,
         const LossScale* scale = nullptr);

  /// Adds to the function of `b` an input `lr`, the clipping of the gradients (one for each parameter), and the step
  /// with write-backs. The step has several nodes, each as soon as its gradients are known, so gradients need not be
  /// held. clip_norm, a scaled loss and shared batches need a single node at the end. Returns the norm of the
  /// gradients; kNoValue without clip_norm and gradient_norm.
  ValueId add(Builder& b, std::vector<ValueId> gradients);

  /// Lines about the parameter groups for people; empty without rules.
  std::vector<std::string> describe_groups() const;

 private:
  /// Parameters updated by one optimizer node.
  struct Group {
    DType dtype = DType::invalid;
    bool coded = false;                   ///< states of 8 bits
    ParameterTraining training;           ///< common to all parameters
    std::vector<std::size_t> parameters;  ///< indices in parameters_
    std::vector<std::uint32_t> states;    ///< states of the program, in the order of optimizer_states
    std::vector<std::int64_t> owners;     ///< index in `parameters` for each state, or -1
    std::vector<std::uint32_t> masters;   ///< states with the parameters' float32 values; empty: none
  };
  ValueId add_updates(Builder& b, std::vector<ValueId> gradients);
  std::vector<Group> groups_by_type() const;
  const std::vector<Group>& groups();
  std::vector<Group> split_group(Builder& b, const Group& g, const std::vector<ValueId>& gradients) const;
  ValueId rate_of(Builder& b, const Group& g, ValueId rate, std::map<std::int64_t, ValueId>& rates);
  bool has_masters(const Group& g) const;
  void add_part(Builder& b, const Group& g, const std::vector<ValueId>& gradients, ValueId rate, ValueId found_inf,
                std::vector<std::uint32_t>& written);

  Program& program_;
  const TrainingOptions& options_;
  const std::vector<TrainedParameter>& parameters_;
  const LossScale* scale_;
  std::optional<WeightAverage> average_;
  std::vector<ParameterTraining> training_;              ///< settings of the parameters, in their order
  std::vector<Group> groups_;                            ///< complete with states after the first step's request
  std::map<std::int64_t, std::uint32_t> factor_states_;  ///< key: the rule that gives the rate
};

}  // namespace tern
