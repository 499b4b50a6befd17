#include "exporter/training/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "exporter/optimizers/step.h"
#include "exporter/rewrite.h"
#include "exporter/training/early_steps.h"
#include "exporter/training/inputs.h"
#include "exporter/training/methods.h"
#include "exporter/training/states.h"

namespace tern {

/// Groups parameters for the optimizer's op: one dtype, and either all or none with 8-bit states. The first parameter's
/// group comes first.
std::vector<Update::Group> Update::by_type() const {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const TensorType& type = program_.states[parameters_[i].state].type;
    const bool coded = optimizers::is_coded(options_.optimizer, type);
    auto group =
        std::ranges::find_if(groups, [&](const Group& g) { return g.dtype == type.dtype && g.coded == coded; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{type.dtype, coded, {}, {}, {}});
    group->parameters.push_back(i);
  }
  return groups;
}

/// Groups with their optimizer states, added at the first request. Groups share states without a parameter, such as the
/// step count.
const std::vector<Update::Group>& Update::groups() {
  if (!groups_.empty()) return groups_;
  groups_ = by_type();
  std::map<std::string_view, std::uint32_t> shared;
  for (Group& g : groups_) {
    std::vector<TensorType> types;
    for (std::size_t i : g.parameters) types.push_back(program_.states[parameters_[i].state].type);
    for (const optimizers::StateTensor& t : optimizers::optimizer_states(options_.optimizer, types)) {
      std::string name = fmt::format("{}{}", training::kOptimizerState, t.name);
      g.owners.push_back(t.parameter);
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

/// Splits a group's parameters into lists for joint steps, the function's last list first.
std::vector<Update::Group> Update::parts(Builder& b, const Group& g, const std::vector<ValueId>& gradients) const {
  std::vector<ValueId> params, own;
  for (std::size_t i : g.parameters) {
    params.push_back(value_of_state(program_, b.function(), parameters_[i].state));
    own.push_back(gradients[i]);
  }
  std::vector<Group> all;
  for (const std::vector<std::size_t>& members : early_steps(b, params, own)) {
    Group part{g.dtype, g.coded, {}, {}, {}};
    for (std::size_t i : members) part.parameters.push_back(g.parameters[i]);
    for (std::size_t s = 0; s < g.states.size(); ++s) {
      const std::int64_t owner = g.owners[s];
      if (owner >= 0 && !std::ranges::binary_search(members, static_cast<std::size_t>(owner))) continue;
      part.states.push_back(g.states[s]);
      part.owners.push_back(owner);
    }
    all.push_back(std::move(part));
  }
  return all;
}

void Update::add_part(Builder& b, const Group& g, const std::vector<ValueId>& gradients, ValueId rate,
                      std::vector<std::uint32_t>& written) {
  std::vector<ValueId> params, own, states;
  for (std::size_t i : g.parameters) {
    params.push_back(value_of_state(program_, b.function(), parameters_[i].state));
    own.push_back(gradients[i]);
  }
  if (options_.clip_value && !options_.clip_norm) own = optimizers::clip_by_value(b, own, *options_.clip_value);
  for (std::uint32_t s : g.states) states.push_back(value_of_state(program_, b.function(), s));
  optimizers::StepInputs inputs;
  inputs.lr = rate;
  optimizers::OptimizerOptions options = options_.optimizer;
  options.coded = g.coded;
  const optimizers::StepResults results = optimizers::optimizer_step(b, options, params, own, states, inputs);
  for (std::size_t i = 0; i < params.size(); ++i)
    write_state(b, parameters_[g.parameters[i]].state, results.params.at(i));
  for (std::size_t i = 0; i < states.size(); ++i) {
    // Every step of a list computes the same shared state: the first list, mostly the function's last, writes it.
    if (std::ranges::find(written, g.states[i]) != written.end()) continue;
    written.push_back(g.states[i]);
    write_state(b, g.states[i], results.states.at(i));
  }
}

ValueId Update::add(Builder& b, std::vector<ValueId> gradients) {
  ValueId norm = kNoValue;
  const ValueId rate = add_training_input(b, {DType::f64, {}}, training::kRate);
  std::vector<std::uint32_t> written;
  if (options_.clip_norm || options_.bucket) {
    if (options_.clip_norm) {
      if (options_.clip_value) gradients = optimizers::clip_by_value(b, gradients, *options_.clip_value);
      norm = optimizers::total_norm(b, gradients);
      gradients = optimizers::clip_by_norm(b, gradients, *options_.clip_norm);
    }
    for (const Group& g : groups()) add_part(b, g, gradients, rate, written);
    return norm;
  }
  std::vector<Group> all;
  for (const Group& g : groups()) std::ranges::move(parts(b, g, gradients), std::back_inserter(all));
  for (const Group& part : all) {
    const std::size_t first = b.function().nodes.size();
    add_part(b, part, gradients, rate, written);
    std::vector<ValueId> params;
    for (std::size_t i : part.parameters)
      params.push_back(value_of_state(program_, b.function(), parameters_[i].state));
    move_up(b.function(), first, last_reader(b.function(), first, params));
  }
  return norm;
}

}  // namespace tern
