#include "exporter/training/accumulation.h"

#include <fmt/format.h>

#include "exporter/gradients/differentiate.h"
#include "exporter/rewrite.h"
#include "exporter/training/data_parallel.h"
#include "exporter/training/methods.h"
#include "exporter/training/states.h"

namespace tern {
namespace {

std::uint32_t add_method(Program& program, Function method, std::string name) {
  method.name = std::move(name);
  method.entry = true;
  program.functions.push_back(std::move(method));
  return static_cast<std::uint32_t>(program.functions.size() - 1);
}

}  // namespace

void set_step_results(Function& method, ValueId loss, ValueId gradient_norm) {
  method.outputs.clear();
  method.in_tree.clear();
  method.out_tree.clear();
  constexpr auto kTensor = FunctionOutput::Kind::tensor;
  if (loss != kNoValue) method.outputs.push_back({kTensor, loss, std::string(training::kLossResult)});
  if (gradient_norm != kNoValue) method.outputs.push_back({kTensor, gradient_norm, std::string(training::kNormResult)});
}

void add_accumulation(Program& program, std::uint32_t step, const std::string& step_name, ValueId loss,
                      const std::vector<TrainedParameter>& parameters, const std::vector<ValueId>& gradients,
                      Update& update, std::optional<std::uint64_t> bucket_bytes, bool float32_sums) {
  const std::string prefix = step_name.empty() ? "" : step_name + ".";
  std::vector<std::uint32_t> gradient_sums;
  for (const TrainedParameter& p : parameters) {
    const State& parameter = program.states[p.state];
    TensorType type = parameter.type;
    if (float32_sums && element_size(type.dtype) == 2) type.dtype = DType::f32;
    gradient_sums.push_back(
        add_training_state(program, fmt::format("{}{}{}", training::kGradientState, prefix, parameter.name), type, 0));
  }
  const TensorType scalar{DType::f32, {}};
  const std::string batches_name = step_name.empty() ? std::string(training::kBatchesState)
                                                     : fmt::format("{}{}", training::kGradientState, step_name);
  const std::uint32_t batch_count = add_training_state(program, batches_name, scalar, 0);

  Builder accumulate(program, add_method(program, program.functions[step],
                                         training::method_of_step(training::kAccumulate, step_name)));
  for (std::size_t i = 0; i < gradient_sums.size(); ++i) {
    const ValueId sum = value_of_state(program, accumulate.function(), gradient_sums[i]);
    write_state(accumulate, gradient_sums[i], add_gradients(accumulate, sum, gradients[i]));
  }
  const ValueId batches_before = value_of_state(program, accumulate.function(), batch_count);
  write_state(accumulate, batch_count, accumulate.expr("n + 1", {{"n", batches_before}}, DType::f32));
  set_step_results(accumulate.function(), loss, kNoValue);

  Builder apply(program, add_method(program, {}, training::method_of_step(training::kApply, step_name)));
  const ValueId batches = value_of_state(program, apply.function(), batch_count);
  std::vector<ValueId> mean_gradient_values;
  for (std::uint32_t sum_state : gradient_sums) {
    const ValueId sum = value_of_state(program, apply.function(), sum_state);
    mean_gradient_values.push_back(apply.expr("sum / n", {{"sum", sum}, {"n", batches}}, apply.dtype(sum)));
    write_state(apply, sum_state, zeros_like(apply, sum));
  }
  write_state(apply, batch_count, apply.full({}, 0, DType::f32));
  if (bucket_bytes) mean_gradient_values = mean_gradients(apply, mean_gradient_values, *bucket_bytes);
  const ValueId gradient_norm = update.add(apply, mean_gradient_values);
  set_step_results(apply.function(), kNoValue, gradient_norm);
}

}  // namespace tern
