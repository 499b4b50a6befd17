#include "exporter/training/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "exporter/optimizers/settings.h"
#include "exporter/optimizers/step.h"
#include "exporter/rewrite.h"
#include "exporter/training/early_steps.h"
#include "exporter/training/inputs.h"
#include "exporter/training/methods.h"
#include "exporter/training/states.h"

namespace tern {
Update::Update(Program& program, const TrainingOptions& options, const std::vector<TrainedParameter>& parameters,
               const LossScale* scale)
    : program_(program),
      options_(options),
      parameters_(parameters),
      scale_(scale),
      training_(apply_rules(options.rules, options.optimizer, names_of(program, parameters))) {
  if (options.ema) average_.emplace(program, optimizer_prefix(options.step), *options.ema, parameters);
}

/// Groups parameters for the optimizer's op: one dtype, equal settings, and either all or none with 8-bit states. The
/// first parameter's group comes first.
std::vector<Update::Group> Update::groups_by_type() const {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const TensorType& type = program_.states[parameters_[i].state].type;
    const bool coded = optimizers::is_coded(training_[i].options, type);
    auto group = std::ranges::find_if(groups, [&](const Group& g) {
      return g.dtype == type.dtype && g.coded == coded && g.training == training_[i];
    });
    if (group == groups.end())
      group = groups.insert(groups.end(), Group{type.dtype, coded, training_[i], {}, {}, {}, {}});
    group->parameters.push_back(i);
  }
  return groups;
}

/// Groups with their optimizer states, added at the first request. Groups share the step count; nadam's product of
/// momenta depends on the settings.
const std::vector<Update::Group>& Update::groups() {
  if (!groups_.empty()) return groups_;
  groups_ = groups_by_type();
  std::vector<std::pair<std::string_view, const Group*>> first_of;  // name of a shared state and its first group
  std::vector<std::uint32_t> shared;
  for (Group& g : groups_) {
    std::vector<TensorType> types;
    for (std::size_t i : g.parameters) types.push_back(program_.states[parameters_[i].state].type);
    for (const optimizers::StateTensor& t : optimizers::optimizer_states(g.training.options, types, has_masters(g))) {
      std::string name = optimizer_prefix(options_.step) + std::string(t.name);
      g.owners.push_back(t.parameter);
      if (t.parameter < 0) {
        const auto same_entry = std::ranges::find_if(first_of, [&](const auto& entry) {
          return entry.first == t.name && (t.name == "step" || entry.second->training == g.training);
        });
        if (same_entry != first_of.end()) {
          g.states.push_back(shared[static_cast<std::size_t>(same_entry - first_of.begin())]);
          continue;
        }
        const auto same_name_count =
            std::ranges::count(first_of, t.name, [](const auto& entry) { return entry.first; });
        if (same_name_count > 0) name += fmt::format(".{}", same_name_count);
        first_of.emplace_back(t.name, &g);
        shared.push_back(add_training_state(program_, std::move(name), t.type, t.initial));
        g.states.push_back(shared.back());
        continue;
      }
      name += "." + program_.states[parameters_[g.parameters[static_cast<std::size_t>(t.parameter)]].state].name;
      g.states.push_back(add_training_state(program_, std::move(name), t.type, t.initial));
    }
    for (std::size_t i = 0; has_masters(g) && i < g.parameters.size(); ++i) {
      const State parameter = program_.states[parameters_[g.parameters[i]].state];
      const std::string name = fmt::format("{}{}", training::kMasterState, parameter.name);
      const int known = find_state(program_, name);  // steps share the masters
      g.masters.push_back(known >= 0 ? static_cast<std::uint32_t>(known)
                                     : add_training_state(program_, name, {DType::f32, parameter.type.shape},
                                                          values_of_state(program_, parameter, DType::f32)));
    }
  }
  return groups_;
}

bool Update::has_masters(const Group& g) const {
  return options_.precision != DType::invalid && element_size(g.dtype) == 2;
}

/// Splits a group's parameters into lists for joint steps, the function's last list first.
std::vector<Update::Group> Update::split_group(Builder& b, const Group& g,
                                               const std::vector<ValueId>& gradients) const {
  std::vector<ValueId> params, step_gradients;
  for (std::size_t i : g.parameters) {
    params.push_back(value_of_state(program_, b.function(), parameters_[i].state));
    step_gradients.push_back(gradients[i]);
  }
  std::vector<Group> split_groups;
  for (const std::vector<std::size_t>& members : early_steps(b, params, step_gradients)) {
    Group subgroup{g.dtype, g.coded, g.training, {}, {}, {}, {}};
    for (std::size_t i : members) {
      subgroup.parameters.push_back(g.parameters[i]);
      if (!g.masters.empty()) subgroup.masters.push_back(g.masters[i]);
    }
    for (std::size_t s = 0; s < g.states.size(); ++s) {
      const std::int64_t owner = g.owners[s];
      if (owner >= 0 && !std::ranges::binary_search(members, static_cast<std::size_t>(owner))) continue;
      subgroup.states.push_back(g.states[s]);
      subgroup.owners.push_back(owner);
    }
    split_groups.push_back(std::move(subgroup));
  }
  return split_groups;
}

/// The archive's rate, or times the factor of the rule that gives the group's rate. Computed at the function's start:
/// steps run early.
ValueId Update::rate_of(Builder& b, const Group& g, ValueId rate, std::map<std::int64_t, ValueId>& rates) {
  const std::int64_t rule = g.training.rate_rule;
  if (rule < 0) return rate;
  const auto [it, is_new] = rates.try_emplace(rule);
  if (!is_new) return it->second;
  const ParameterRule& giver = options_.rules[static_cast<std::size_t>(rule)];
  const auto [state, is_new_state] = factor_states_.try_emplace(rule);
  if (is_new_state) {
    const std::string name = fmt::format("{}{}", training::kRateFactorState, giver.selector);
    const int known = find_state(program_, name);  // steps share the factor of a rule
    state->second = known >= 0
                        ? static_cast<std::uint32_t>(known)
                        : add_training_state(program_, name, {DType::f64, {}}, rate_factor(giver, options_.optimizer));
  }
  const std::size_t first = b.function().nodes.size();
  const ValueId factor = value_of_state(program_, b.function(), state->second);
  it->second = b.expr("r * f", {{"r", rate}, {"f", factor}}, DType::f64);
  move_up(b.function(), first);
  return it->second;
}

void Update::add_part(Builder& b, const Group& g, const std::vector<ValueId>& gradients, ValueId rate,
                      ValueId found_inf, std::vector<std::uint32_t>& written) {
  std::vector<ValueId> params, step_gradients, states;
  for (std::size_t i : g.parameters) {
    params.push_back(value_of_state(program_, b.function(), parameters_[i].state));
    step_gradients.push_back(gradients[i]);
  }
  if (options_.clip_value && !options_.clip_norm)
    step_gradients = optimizers::clip_by_value(b, step_gradients, *options_.clip_value);
  for (std::uint32_t s : g.states) states.push_back(value_of_state(program_, b.function(), s));
  optimizers::StepInputs inputs;
  inputs.lr = rate;
  inputs.found_inf = found_inf;
  for (std::uint32_t s : g.masters) inputs.masters.push_back(value_of_state(program_, b.function(), s));
  // Adafactor reads parameters: the masters are its parameters, rounded afterwards.
  const bool steps_masters = !g.masters.empty() && g.training.options.optimizer == optimizers::Optimizer::adafactor;
  const std::vector<ValueId> rounded = params;
  if (steps_masters) params.swap(inputs.masters), inputs.masters.clear();
  optimizers::OptimizerOptions options = g.training.options;
  options.coded = g.coded;
  const optimizers::StepResults results =
      optimizers::optimizer_step(b, options, params, step_gradients, states, inputs);
  for (std::size_t i = 0; i < params.size(); ++i) {
    const ValueId next = results.params.at(i);
    write_state(b, parameters_[g.parameters[i]].state, b.cast(next, b.dtype(rounded[i])));
    if (!g.masters.empty()) write_state(b, g.masters[i], steps_masters ? next : results.masters.at(i));
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    // Every step of a list computes the same shared state: the first list, mostly the function's last, writes it.
    if (std::ranges::find(written, g.states[i]) != written.end()) continue;
    written.push_back(g.states[i]);
    write_state(b, g.states[i], results.states.at(i));
  }
}

ValueId Update::add(Builder& b, std::vector<ValueId> gradients) {
  const ValueId norm = add_updates(b, std::move(gradients));
  if (average_) average_->add(b);
  return norm;
}

ValueId Update::add_updates(Builder& b, std::vector<ValueId> gradients) {
  ValueId norm = kNoValue;
  const ValueId rate = add_training_input(b, {DType::f64, {}}, training::kRate);
  std::vector<std::uint32_t> written;
  std::map<std::int64_t, ValueId> rates;
  if (options_.clip_norm || options_.gradient_norm || options_.bucket || scale_ != nullptr) {
    ValueId found_inf = kNoValue;
    if (scale_ != nullptr) {
      gradients = scale_->unscaled(b, gradients);
      found_inf = LossScale::found_inf(b, gradients);
      scale_->update(b, found_inf);
    }
    if (options_.clip_norm) {
      if (options_.clip_value) gradients = optimizers::clip_by_value(b, gradients, *options_.clip_value);
      norm = optimizers::total_norm(b, gradients);
      gradients = optimizers::clip_by_norm(b, gradients, *options_.clip_norm);
    } else if (options_.gradient_norm) {
      norm = optimizers::total_norm(b, gradients);
    }
    for (const Group& g : groups()) add_part(b, g, gradients, rate_of(b, g, rate, rates), found_inf, written);
    return norm;
  }
  std::vector<Group> split_groups;
  for (const Group& g : groups()) rate_of(b, g, rate, rates);
  for (const Group& g : groups()) std::ranges::move(split_group(b, g, gradients), std::back_inserter(split_groups));
  for (const Group& subgroup : split_groups) {
    const std::size_t first = b.function().nodes.size();
    add_part(b, subgroup, gradients, rate_of(b, subgroup, rate, rates), kNoValue, written);
    std::vector<ValueId> params;
    for (std::size_t i : subgroup.parameters)
      params.push_back(value_of_state(program_, b.function(), parameters_[i].state));
    move_up(b.function(), first, last_reader(b.function(), first, params));
  }
  return norm;
}

std::vector<std::string> Update::describe_groups() const {
  std::vector<std::string> lines;
  if (options_.rules.empty()) return lines;
  std::vector<ParameterTraining> kinds;
  for (const ParameterTraining& t : training_) {
    if (std::ranges::find(kinds, t) == kinds.end()) kinds.push_back(t);
  }
  constexpr std::size_t kMaxNames = 4;
  for (const ParameterTraining& kind : kinds) {
    std::size_t count = 0;
    std::uint64_t elements = 0;
    std::string names;
    for (std::size_t i = 0; i < training_.size(); ++i) {
      if (training_[i] != kind) continue;
      const State& s = program_.states[parameters_[i].state];
      std::uint64_t bytes = 0;
      if (byte_size(s.type, &bytes)) elements += bytes / static_cast<std::uint64_t>(element_size(s.type.dtype));
      if (count < kMaxNames) names += (count == 0 ? "" : ", ") + s.name;
      ++count;
    }
    if (count > kMaxNames) names += ", ...";
    lines.push_back(fmt::format("{}{}; {} parameter{} of {} elements: {}",
                                options_.step.empty() ? "" : options_.step + ": ", optimizers::describe(kind.options),
                                count, count == 1 ? "" : "s", elements, names));
  }
  return lines;
}

}  // namespace tern
