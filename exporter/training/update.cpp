#include "exporter/training/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "exporter/optimizers/step.h"
#include "exporter/rewrite.h"
#include "exporter/training/inputs.h"
#include "exporter/training/methods.h"
#include "exporter/training/states.h"

namespace tern {

/// An optimizer's op takes parameters of one dtype, whose states have 8 bits or not. Those of the first parameter's
/// kind come first.
std::vector<Update::Group> Update::by_type() const {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const TensorType& type = program_.states[parameters_[i].state].type;
    const bool coded = optimizers::is_coded(options_.optimizer, type);
    auto group =
        std::ranges::find_if(groups, [&](const Group& g) { return g.dtype == type.dtype && g.coded == coded; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{type.dtype, coded, {}, {}});
    group->parameters.push_back(i);
  }
  return groups;
}

/// With the states of the optimizer, added when they are first asked for. Groups share those that belong to no
/// parameter, such as the number of steps.
const std::vector<Update::Group>& Update::groups() {
  if (!groups_.empty()) return groups_;
  groups_ = by_type();
  std::map<std::string_view, std::uint32_t> shared;
  for (Group& g : groups_) {
    std::vector<TensorType> types;
    for (std::size_t i : g.parameters) types.push_back(program_.states[parameters_[i].state].type);
    for (const optimizers::StateTensor& t : optimizers::optimizer_states(options_.optimizer, types)) {
      std::string name = fmt::format("{}{}", training::kOptimizerState, t.name);
      if (t.parameter < 0) {
        const auto [at, is_new] = shared.try_emplace(t.name);
        if (is_new) at->second = add_training_state(program_, std::move(name), t.type, t.initial);
        g.states.push_back(at->second);
        continue;
      }
      name += "." + program_.states[parameters_[g.parameters[static_cast<std::size_t>(t.parameter)]].state].name;
      g.states.push_back(add_training_state(program_, std::move(name), t.type, t.initial));
    }
  }
  return groups_;
}

ValueId Update::add(Builder& b, std::vector<ValueId> gradients) {
  ValueId norm = kNoValue;
  if (options_.clip_value) gradients = optimizers::clip_by_value(b, gradients, *options_.clip_value);
  if (options_.clip_norm) {
    norm = optimizers::total_norm(b, gradients);
    gradients = optimizers::clip_by_norm(b, gradients, *options_.clip_norm);
  }
  optimizers::StepInputs inputs;
  inputs.lr = add_training_input(b, {DType::f64, {}}, training::kRate);
  std::vector<std::uint32_t> written;
  for (const Group& g : groups()) {
    std::vector<ValueId> params, own, states;
    for (std::size_t i : g.parameters) {
      params.push_back(value_of_state(program_, b.function(), parameters_[i].state));
      own.push_back(gradients[i]);
    }
    for (std::uint32_t s : g.states) states.push_back(value_of_state(program_, b.function(), s));
    const optimizers::StepResults results =
        optimizers::optimizer_step(b, options_.optimizer, params, own, states, inputs);
    for (std::size_t i = 0; i < params.size(); ++i)
      write_state(b, parameters_[g.parameters[i]].state, results.params.at(i));
    for (std::size_t i = 0; i < states.size(); ++i) {
      // A shared state is the same after each group's step.
      if (std::ranges::find(written, g.states[i]) != written.end()) continue;
      written.push_back(g.states[i]);
      write_state(b, g.states[i], results.states.at(i));
    }
  }
  return norm;
}

}  // namespace tern
