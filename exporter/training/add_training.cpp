#include "exporter/training/add_training.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "exporter/gradients/differentiate.h"
#include "exporter/rewrite.h"
#include "exporter/training/accumulation.h"
#include "exporter/training/adapters.h"
#include "exporter/training/data_parallel.h"
#include "exporter/training/heads.h"
#include "exporter/training/joint.h"
#include "exporter/training/loss_scale.h"
#include "exporter/training/losses.h"
#include "exporter/training/methods.h"
#include "exporter/training/mixed_precision.h"
#include "exporter/training/parameters.h"
#include "exporter/training/states.h"
#include "exporter/training/update.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

std::uint32_t index_of(const Program& program, std::string_view name) {
  const int found = program.find_entry(std::string(name));
  if (found < 0) fail(ErrorCode::internal, fmt::format("function '{}' does not exist", name));
  return static_cast<std::uint32_t>(found);
}

/// Gradient for each parameter, or kNoValue.
std::vector<ValueId> gradients_of(Builder& b, ValueId loss, const std::vector<TrainedParameter>& parameters,
                                  const std::optional<LossScale>& scale) {
  std::vector<ValueId> wrt;
  for (const TrainedParameter& p : parameters) {
    for (std::uint32_t s : p.tied_states) wrt.push_back(value_of_state(b.program(), b.function(), s));
  }
  const GradientSeed seed{loss, scale ? scale->seed(b, b.dtype(loss)) : b.full({}, 1, b.dtype(loss))};
  const std::vector<ValueId> gradients_of_all = differentiate(b, std::span(&seed, 1), wrt);
  std::vector<ValueId> gradients;
  std::size_t next = 0;
  for (const TrainedParameter& p : parameters) {
    ValueId sum = kNoValue;
    for (std::size_t i = 0; i < p.tied_states.size(); ++i) sum = add_gradients(b, sum, gradients_of_all[next++]);
    gradients.push_back(sum);
  }
  return gradients;
}

/// Drops parameters without a gradient, and reports the remaining ones.
void drop_unreached(const Program& program, std::vector<TrainedParameter>& parameters, std::vector<ValueId>& gradients,
                    const TrainingOptions& options, TrainingReport& report) {
  std::vector<TrainedParameter> trained;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const State& s = program.states[parameters[i].state];
    if (gradients[i] == kNoValue) {
      report.unused.push_back(options.step.empty() ? s.name : fmt::format("{} by {}", s.name, options.step));
      continue;
    }
    trained.push_back(parameters[i]);
  }
  if (trained.empty())
    fail(ErrorCode::invalid_argument,
         options.step.empty()
             ? "--train: the loss depends on no parameter that is trained"
             : fmt::format("--step {}: its loss depends on no parameter that it trains", options.step));
  std::erase(gradients, kNoValue);
  parameters = std::move(trained);
}

void note_metadata(Program& program, const TrainingOptions& options, const LossRecord* loss) {
  const auto note = [&](std::string_view key, const std::string& value) { program.metadata.emplace_back(key, value); };
  note(training::kLossKey, options.loss);
  if (loss != nullptr && loss->classes) note(training::kClassAxisKey, fmt::format("{}", options.class_axis));
  std::string steps;
  for (const StepRule& s : options.steps)
    steps += fmt::format("{}{}{}", steps.empty() ? "" : " ", s.name, s.every == 1 ? "" : fmt::format(":{}", s.every));
  if (!steps.empty()) note(training::kStepsKey, steps);
  note(training::kOptimizerKey, optimizers::full_name(options.optimizer));
  if (options.precision != DType::invalid) note(training::kPrecisionKey, std::string(name_of(options.precision)));
  if (options.ema) note(training::kAverageKey, fmt::format("{}", *options.ema));
  if (options.bucket) note(training::kBucketKey, fmt::format("{}", *options.bucket));
  note(training::kRateKey, fmt::format("{}", options.optimizer.lr));
}

/// Narrows the products of the step. Fails if nothing is narrowed.
void take_precision(Program& program, std::uint32_t step, const TrainingOptions& options,
                    const std::vector<TrainedParameter>& parameters) {
  if (options.precision == DType::invalid) return;
  const std::size_t narrowed = narrow_products(program, step, options.precision);
  const bool has_narrow = std::ranges::any_of(
      parameters, [&](const TrainedParameter& p) { return element_size(program.states[p.state].type.dtype) == 2; });
  if (narrowed > 0 || has_narrow) return;
  fail(ErrorCode::invalid_argument,
       "--train --precision: the program has no product, convolution or attention of float32 and no parameter of 16 "
       "bits");
}

std::size_t count_parameters(const Program& program) {
  return static_cast<std::size_t>(
      std::ranges::count(program.states, State::Kind::parameter, [](const State& s) { return s.kind; }));
}

/// Makes a function a step: gradients of its loss, and new values of these parameters. Adds the trained parameters'
/// states to `trained`.
void add_step(Program& program, std::uint32_t step, const TrainingOptions& options,
              std::vector<TrainedParameter> parameters, TrainingReport& report, std::set<std::uint32_t>& trained) {
  const LossRecord* loss_record = find_loss(options.loss);
  const bool joint = is_joint(program.functions[step]);
  take_precision(program, step, options, parameters);
  std::optional<LossScale> scale;
  if (options.precision == DType::f16) scale.emplace(program, optimizer_prefix(options.step), options.loss_scale);
  Builder b(program, step);
  // Loss of one rank, if ranks share batches.
  RankLoss loss_parts;
  if (options.bucket) {
    loss_parts = add_rank_loss(b, loss_record, options);
  } else {
    loss_parts.rank_loss = loss_parts.differentiated =
        joint ? require_loss_result(b) : add_head(b, loss_record, options);
  }
  std::vector<ValueId> gradients =
      joint ? joint_gradients(b, parameters) : gradients_of(b, loss_parts.differentiated, parameters, scale);
  drop_unreached(program, parameters, gradients, options, report);
  for (const TrainedParameter& p : parameters) trained.insert(p.state);
  weigh(b, loss_parts.weight, gradients);
  const ValueId loss = options.bucket ? mean_over_ranks(b, loss_parts.rank_loss) : loss_parts.rank_loss;
  if (options.bucket) share_buffers(b, *options.bucket);
  Update update(program, options, parameters, scale ? &*scale : nullptr);
  if (options.accumulate) {
    add_accumulation(program, step, options.step, loss, parameters, gradients, update, options.bucket,
                     options.precision != DType::invalid);
  }
  if (options.bucket) gradients = mean_gradients(b, gradients, *options.bucket);
  const ValueId norm = update.add(b, gradients);
  set_step_results(b.function(), loss, norm);
  std::ranges::move(update.describe_groups(), std::back_inserter(report.groups));
}

/// Options of a named step: its loss, and a rule for all its parameters.
TrainingOptions options_of_step(const TrainingOptions& options, const StepRule& step) {
  TrainingOptions step_options = options;
  step_options.step = step.name;
  step_options.loss_result = step.loss;
  step_options.rules.insert(step_options.rules.begin(), step.rule);
  return step_options;
}

/// Replaces train_step by a method for each step.
void add_named_steps(Program& program, std::uint32_t function, const TrainingOptions& options,
                     const std::vector<TrainedParameter>& parameters, TrainingReport& report,
                     std::set<std::uint32_t>& trained) {
  std::vector<std::uint32_t> functions = {function};
  for (std::size_t i = 1; i < options.steps.size(); ++i) {
    Function copy = program.functions[function];
    functions.push_back(static_cast<std::uint32_t>(program.functions.size()));
    program.functions.push_back(std::move(copy));
  }
  const std::vector<NamedParameter> parameter_names = names_of(program, parameters);
  for (std::size_t i = 0; i < options.steps.size(); ++i) {
    const StepRule& step = options.steps[i];
    std::vector<TrainedParameter> step_parameters;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      if (trains(step, parameter_names[k])) step_parameters.push_back(parameters[k]);
    }
    if (step_parameters.empty()) {
      std::vector<std::string> names;
      for (const State& s : program.states) {
        if (s.kind == State::Kind::parameter) names.push_back(s.name);
      }
      fail(ErrorCode::invalid_argument, fmt::format("--step {}: trains={} leaves no parameter{}", step.name,
                                                    step.trains, nearest_parameter(names, step.trains)));
    }
    program.functions[functions[i]].name = step.name;
    add_step(program, functions[i], options_of_step(options, step), std::move(step_parameters), report, trained);
  }
}

void check_named_steps(const TrainingOptions& options) {
  check_steps(options.steps, options.accumulate);
  if (options.steps.empty()) return;
  if (options.loss != "none")
    fail(ErrorCode::invalid_argument, "--step: the steps have losses of the program; leave out --loss");
}

void check_averages_and_weights(const TrainingOptions& options) {
  if (options.class_weights.empty()) return;
  const LossRecord* loss = find_loss(options.loss);
  if (loss == nullptr || (!loss->classes && loss->name != "bce_with_logits"))
    fail(ErrorCode::invalid_argument, "--class-weights needs --loss cross_entropy, nll or bce_with_logits");
  if (options.bucket)
    fail(ErrorCode::invalid_argument,
         "--class-weights cannot be combined with --data-parallel: ranks weigh their parts "
         "by the number of targets");
}

}  // namespace

TrainingReport add_training(Program& program, const TrainingOptions& options) {
  optimizers::check_options(options.optimizer);
  check_named_steps(options);
  check_averages_and_weights(options);
  const LossRecord* loss_record = find_loss(options.loss);
  const std::uint32_t step = index_of(program, training::kTrainStep);
  const bool joint = is_joint(program.functions[step]);
  if (joint && !options.steps.empty()) {
    fail(ErrorCode::invalid_argument,
         "--step: the file has a joint graph, whose gradients belong to one loss; export the model itself with "
         "torch.export.export, and return all losses");
  }
  if (joint && loss_record != nullptr) {
    fail(ErrorCode::invalid_argument,
         "--train: the file has a joint graph, which computes its own loss and gradients; give --loss none");
  }
  if (joint && options.precision != DType::invalid) {
    fail(ErrorCode::invalid_argument,
         "--train --precision: the file has a joint graph, whose gradients are already of its own precision; run its "
         "forward pass in torch.autocast before export");
  }
  AddedAdapters adapters_added;
  if (!options.lora.empty()) adapters_added = add_adapters(program, options.lora, options.lora_seed);
  std::vector<TrainedParameter> parameters =
      options.lora.empty() ? choose_parameters(program, step, options.freeze, options.rules, options.steps)
                           : std::move(adapters_added.parameters);
  if (!options.lora.empty()) require_matches(options.rules, names_of(program, parameters));
  TrainingReport report;
  report.unadapted = std::move(adapters_added.left_out);
  report.tied_weights = std::move(adapters_added.tied_weights);
  report.frozen = count_parameters(program);
  for (const TrainedParameter& p : parameters) report.frozen -= p.tied_states.size();
  TrainingOptions evaluated = options;
  if (!options.steps.empty()) evaluated.loss_result = options.steps[0].loss;
  add_loss_method(program, joint ? step : index_of(program, training::kForward), loss_record, evaluated);
  std::set<std::uint32_t> trained;
  if (options.steps.empty()) {
    add_step(program, step, options, std::move(parameters), report, trained);
  } else {
    add_named_steps(program, step, options, parameters, report, trained);
  }
  if (options.ema) add_averaged_methods(program);
  report.trained = trained.size();
  for (const std::uint32_t state : trained) {
    const State& s = program.states[state];
    report.elements += program.storages[s.storage].size / static_cast<std::uint64_t>(element_size(s.type.dtype));
  }
  note_metadata(program, options, loss_record);
  for (std::size_t i = 0; i < report.groups.size(); ++i)
    program.metadata.emplace_back(fmt::format("{}{}", training::kGroupKey, i), report.groups[i]);
  remove_dead_code(program);
  return report;
}

}  // namespace tern
