#include "exporter/training/heads.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/training/inputs.h"
#include "exporter/training/joint.h"
#include "exporter/training/methods.h"

namespace tern {
namespace {

using FunctionOutputKind = FunctionOutput::Kind;

/// Returns the first tensor among the results: the prediction, or the program's own loss.
ValueId first_tensor_result(const Function& f) {
  for (const FunctionOutput& o : f.outputs) {
    if (o.kind == FunctionOutputKind::tensor && o.value != kNoValue) return o.value;
  }
  fail(ErrorCode::invalid_argument, "--train: the program's result is not a tensor");
}

/// The result with this name or number.
ValueId result_of(const Function& f, const std::string& result) {
  std::string names;
  for (std::size_t i = 0; i < f.outputs.size(); ++i) {
    const FunctionOutput& o = f.outputs[i];
    if (o.kind != FunctionOutputKind::tensor || o.value == kNoValue) continue;
    if (o.name == result || std::to_string(i) == result) return o.value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", o.name.empty() ? std::to_string(i) : o.name);
  }
  fail(ErrorCode::invalid_argument,
       fmt::format("--step: loss={}: the program has no such result; it has {}", result, names));
}

/// Removes the updates of batch counts by batch norms in training mode: the loss does not read the counts.
void remove_batch_count_updates(const Program& program, Function& f) {
  std::erase_if(f.writebacks, [&](const WriteBack& w) {
    return w.target == WriteBack::Target::state && program.states[w.index].name.ends_with("num_batches_tracked");
  });
}

}  // namespace

ValueId require_loss_result(Builder& b, const std::string& result) {
  const ValueId v = result.empty() ? first_tensor_result(b.function()) : result_of(b.function(), result);
  if (b.rank(v) != 0 || !is_floating(b.dtype(v))) {
    if (!result.empty())
      fail(ErrorCode::invalid_argument,
           fmt::format("--step: loss={} is {}, but a loss is one float", result, text_of(b.type(v), b.program().pool)));
    fail(ErrorCode::invalid_argument,
         fmt::format("--loss none: the program's first result is {}, but a loss is one float; give --loss",
                     text_of(b.type(v), b.program().pool)));
  }
  return v;
}

Head add_head(Builder& b, const LossRecord& loss, const TrainingOptions& options, Reduction reduction) {
  const ValueId prediction = first_tensor_result(b.function());
  const ValueId target = add_training_input(b, target_type(loss, b.type(prediction), options), training::kTarget);
  if (reduction == Reduction::mean || element_size(b.dtype(prediction)) > 2)
    return {add_loss(b, loss, prediction, target, options, reduction), target};
  const ValueId float32_target = loss.classes ? target : b.cast(target, DType::f32);
  return {add_loss(b, loss, b.cast(prediction, DType::f32), float32_target, options, reduction), target};
}

ValueId add_head(Builder& b, const LossRecord* loss, const TrainingOptions& options) {
  return loss == nullptr ? require_loss_result(b, options.loss_result)
                         : add_head(b, *loss, options, Reduction::mean).loss;
}

void add_loss_method(Program& program, std::uint32_t source, const LossRecord* loss, const TrainingOptions& options) {
  const bool joint = is_joint(program.functions[source]);
  if (!joint) remove_batch_count_updates(program, program.functions[source]);
  Function copy = program.functions[source];
  copy.name = training::kLoss;
  copy.in_tree.clear();
  copy.out_tree.clear();
  if (joint) leave_joint_gradients(copy);
  program.functions.push_back(std::move(copy));
  Builder b(program, static_cast<std::uint32_t>(program.functions.size() - 1));
  const ValueId value = add_head(b, loss, options);
  std::vector<FunctionOutput>& results = b.function().outputs;
  if (loss == nullptr) std::erase_if(results, [&](const FunctionOutput& o) { return o.value == value; });
  results.insert(results.begin(), {FunctionOutputKind::tensor, value, std::string(training::kLossResult)});
}

}  // namespace tern
