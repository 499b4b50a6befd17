#include "exporter/training/add_training.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <optional>

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
    for (std::uint32_t s : p.same) wrt.push_back(value_of_state(b.program(), b.function(), s));
  }
  const GradientSeed seed{loss, scale ? scale->seed(b, b.dtype(loss)) : b.full({}, 1, b.dtype(loss))};
  const std::vector<ValueId> all = differentiate(b, std::span(&seed, 1), wrt);
  std::vector<ValueId> gradients;
  std::size_t next = 0;
  for (const TrainedParameter& p : parameters) {
    ValueId sum = kNoValue;
    for (std::size_t i = 0; i < p.same.size(); ++i) sum = add_gradients(b, sum, all[next++]);
    gradients.push_back(sum);
  }
  return gradients;
}

/// Drops parameters without a gradient, and reports the remaining ones.
void drop_unreached(const Program& program, std::vector<TrainedParameter>& parameters, std::vector<ValueId>& gradients,
                    TrainingReport& report) {
  std::vector<TrainedParameter> reached;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const State& s = program.states[parameters[i].state];
    if (gradients[i] == kNoValue) {
      report.unused.push_back(s.name);
      continue;
    }
    reached.push_back(parameters[i]);
    report.elements += program.storages[s.storage].size / static_cast<std::uint64_t>(element_size(s.type.dtype));
  }
  if (reached.empty()) fail(ErrorCode::invalid_argument, "--train: the loss depends on no parameter that is trained");
  std::erase(gradients, kNoValue);
  parameters = std::move(reached);
  report.trained = parameters.size();
}

void note_metadata(Program& program, const TrainingOptions& options, const LossRecord* loss) {
  const auto note = [&](std::string_view key, const std::string& value) { program.metadata.emplace_back(key, value); };
  note(training::kLossKey, options.loss);
  if (loss != nullptr && loss->classes) note(training::kClassAxisKey, fmt::format("{}", options.class_axis));
  note(training::kOptimizerKey, optimizers::full_name(options.optimizer));
  if (options.precision != DType::invalid) note(training::kPrecisionKey, std::string(name_of(options.precision)));
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

}  // namespace

TrainingReport add_training(Program& program, const TrainingOptions& options) {
  optimizers::check_options(options.optimizer);
  const LossRecord* loss_record = find_loss(options.loss);
  const std::uint32_t step = index_of(program, training::kTrainStep);
  const bool joint = is_joint(program.functions[step]);
  if (joint && loss_record != nullptr) {
    fail(ErrorCode::invalid_argument,
         "--train: the file has a joint graph, which computes its own loss and gradients; give --loss none");
  }
  if (joint && options.precision != DType::invalid) {
    fail(ErrorCode::invalid_argument,
         "--train --precision: the file has a joint graph, whose gradients are already of its own precision; run its "
         "forward pass in torch.autocast before export");
  }
  AddedAdapters added;
  if (!options.lora.empty()) added = add_adapters(program, options.lora, options.lora_seed);
  std::vector<TrainedParameter> parameters = options.lora.empty()
                                                 ? choose_parameters(program, step, options.freeze, options.rules)
                                                 : std::move(added.parameters);
  if (!options.lora.empty()) require_matches(options.rules, names_of(program, parameters));
  TrainingReport report;
  report.without_adapters = std::move(added.left_out);
  report.frozen = count_parameters(program);
  for (const TrainedParameter& p : parameters) report.frozen -= p.same.size();
  add_loss_method(program, joint ? step : index_of(program, training::kForward), loss_record, options);

  take_precision(program, step, options, parameters);
  std::optional<LossScale> scale;
  if (options.precision == DType::f16) scale.emplace(program, options.loss_scale);
  Builder b(program, step);
  // Loss of one rank, if ranks share batches.
  RankLoss own;
  if (options.bucket) {
    own = add_rank_loss(b, loss_record, options);
  } else {
    own.own = own.differentiated = joint ? require_loss_result(b) : add_head(b, loss_record, options);
  }
  std::vector<ValueId> gradients =
      joint ? joint_gradients(b, parameters) : gradients_of(b, own.differentiated, parameters, scale);
  drop_unreached(program, parameters, gradients, report);
  weigh(b, own.weight, gradients);
  const ValueId loss = options.bucket ? mean_over_ranks(b, own.own) : own.own;
  if (options.bucket) share_buffers(b, *options.bucket);
  Update update(program, options, parameters, scale ? &*scale : nullptr);
  if (options.accumulate)
    add_accumulation(program, step, loss, parameters, gradients, update, options.bucket,
                     options.precision != DType::invalid);
  if (options.bucket) gradients = mean_gradients(b, gradients, *options.bucket);
  const ValueId norm = update.add(b, gradients);
  set_step_results(b.function(), loss, norm);
  note_metadata(program, options, loss_record);
  report.groups = update.describe_groups();
  for (std::size_t i = 0; i < report.groups.size(); ++i)
    program.metadata.emplace_back(fmt::format("{}{}", training::kGroupKey, i), report.groups[i]);
  remove_dead_code(program);
  return report;
}

}  // namespace tern
