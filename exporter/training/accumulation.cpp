#include "exporter/training/accumulation.h"

#include <fmt/format.h>

#include "exporter/gradients/differentiate.h"
#include "exporter/rewrite.h"
#include "exporter/training/data_parallel.h"
#include "exporter/training/methods.h"
#include "exporter/training/states.h"

namespace tern {
namespace {

std::uint32_t add_method(Program& program, Function f, std::string_view name) {
  f.name = name;
  f.entry = true;
  program.functions.push_back(std::move(f));
  return static_cast<std::uint32_t>(program.functions.size() - 1);
}

}  // namespace

void set_step_results(Function& f, ValueId loss, ValueId norm) {
  f.outputs.clear();
  f.in_tree.clear();
  f.out_tree.clear();
  constexpr auto kTensor = FunctionOutput::Kind::tensor;
  if (loss != kNoValue) f.outputs.push_back({kTensor, loss, std::string(training::kLossResult)});
  if (norm != kNoValue) f.outputs.push_back({kTensor, norm, std::string(training::kNormResult)});
}

void add_accumulation(Program& program, std::uint32_t step, ValueId loss,
                      const std::vector<TrainedParameter>& parameters, const std::vector<ValueId>& gradients,
                      Update& update, std::optional<std::uint64_t> bucket) {
  std::vector<std::uint32_t> sums;
  for (const TrainedParameter& p : parameters) {
    const State& s = program.states[p.state];
    sums.push_back(add_training_state(program, fmt::format("{}{}", training::kGradientState, s.name), s.type, 0));
  }
  const TensorType number{DType::f32, {}};
  const std::uint32_t count = add_training_state(program, std::string(training::kBatchesState), number, 0);

  Builder a(program, add_method(program, program.functions[step], training::kAccumulate));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const ValueId sum = value_of_state(program, a.function(), sums[i]);
    write_state(a, sums[i], add_gradients(a, sum, gradients[i]));
  }
  const ValueId before = value_of_state(program, a.function(), count);
  write_state(a, count, a.expr("n + 1", {{"n", before}}, DType::f32));
  set_step_results(a.function(), loss, kNoValue);

  Builder b(program, add_method(program, {}, training::kApply));
  const ValueId n = value_of_state(program, b.function(), count);
  std::vector<ValueId> means;
  for (std::uint32_t s : sums) {
    const ValueId sum = value_of_state(program, b.function(), s);
    means.push_back(b.expr("sum / n", {{"sum", sum}, {"n", n}}, b.dtype(sum)));
    write_state(b, s, zeros_like(b, sum));
  }
  write_state(b, count, b.full({}, 0, DType::f32));
  if (bucket) means = mean_gradients(b, means, *bucket);
  const ValueId norm = update.add(b, means);
  set_step_results(b.function(), kNoValue, norm);
}

}  // namespace tern
