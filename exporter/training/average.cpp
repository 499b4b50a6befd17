#include "exporter/training/average.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/rewrite.h"
#include "exporter/training/methods.h"
#include "exporter/training/states.h"

namespace tern {
namespace {

DType average_type(DType parameter) {
  return element_size(parameter) == 2 ? DType::f32 : parameter;
}

/// The function's new value of a state; kNoValue: none.
ValueId written_value(const Function& f, std::uint32_t state) {
  for (const WriteBack& w : f.writebacks) {
    if (w.target == WriteBack::Target::state && w.index == state) return w.value;
  }
  return kNoValue;
}

/// The new value of a parameter, of its master if it has one.
ValueId new_value(Builder& b, std::uint32_t parameter) {
  const int master = find_state(b.program(), std::string(training::kMasterState) + b.program().states[parameter].name);
  const ValueId master_value = master < 0 ? kNoValue : written_value(b.function(), static_cast<std::uint32_t>(master));
  return master_value != kNoValue ? master_value : written_value(b.function(), parameter);
}

/// A parameter and its average, by state numbers.
struct Averaged {
  std::uint32_t parameter = 0, average = 0;
};

std::vector<Averaged> averages_of(const Program& program) {
  std::vector<Averaged> averaged;
  for (std::uint32_t i = 0; i < program.states.size(); ++i) {
    const std::string& name = program.states[i].name;
    if (!name.starts_with(training::kAverageState)) continue;
    const int parameter = find_state(program, name.substr(training::kAverageState.size()));
    if (parameter >= 0) averaged.push_back({static_cast<std::uint32_t>(parameter), i});
  }
  return averaged;
}

/// Reads the averages instead of the parameters. Tied parameters have one average.
void read_averages(Program& program, std::uint32_t function, const std::vector<Averaged>& averages) {
  Builder b(program, function);
  const std::size_t inputs = b.function().inputs.size();
  for (std::size_t i = 0; i < inputs; ++i) {
    const FunctionInput input = b.function().inputs[i];
    if (input.kind != FunctionInput::Kind::state || input.value == kNoValue) continue;
    const auto found = std::ranges::find_if(averages, [&](const Averaged& a) {
      return is_same_tensor(program.states[a.parameter], program.states[input.state]);
    });
    if (found == averages.end()) continue;
    const std::size_t first = b.function().nodes.size();
    const ValueId average_value = value_of_state(program, b.function(), found->average);
    const ValueId value = b.cast(average_value, b.dtype(input.value));
    move_up(b.function(), first);
    use_instead(b.function(), input.value, value);
  }
}

void add_copy(Program& program, std::string_view source, std::string_view name) {
  const int found = program.find_entry(std::string(source));
  if (found < 0) return;
  Function copy = program.functions[static_cast<std::size_t>(found)];
  copy.name = name;
  program.functions.push_back(std::move(copy));
  read_averages(program, static_cast<std::uint32_t>(program.functions.size() - 1), averages_of(program));
}

}  // namespace

WeightAverage::WeightAverage(Program& program, const std::string& prefix, double decay,
                             const std::vector<TrainedParameter>& parameters)
    : decay_(decay), parameters_(parameters) {
  for (const TrainedParameter& p : parameters) {
    const State parameter = program.states[p.state];
    const std::string name = std::string(training::kAverageState) + parameter.name;
    const DType dtype = average_type(parameter.type.dtype);
    const int known = find_state(program, name);
    averages_.push_back(known >= 0 ? static_cast<std::uint32_t>(known)
                                   : add_training_state(program, name, {dtype, parameter.type.shape},
                                                        values_of_state(program, parameter, dtype)));
  }
  steps_ = add_training_state(program, prefix + std::string(training::kAveragedStepsState), {DType::f32, {}}, 0);
}

void WeightAverage::add(Builder& b) const {
  const ValueId steps = value_of_state(b.program(), b.function(), steps_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const ValueId next = new_value(b, parameters_[i].state);
    if (next == kNoValue) fail(ErrorCode::internal, "a step writes no new value of a parameter");
    const ValueId old_average = value_of_state(b.program(), b.function(), averages_[i]);
    const double weight = 1 - decay_;
    // The two forms of torch.lerp.
    const char* text = weight < 0.5 ? "n == 0 ? p : a + w * (p - a)" : "n == 0 ? p : p - (p - a) * (1 - w)";
    write_state(b, averages_[i],
                b.expr(text, {{"n", steps}, {"p", next}, {"a", old_average}, {"w", weight}}, b.dtype(old_average)));
  }
  write_state(b, steps_, b.expr("n + 1", {{"n", steps}}, DType::f32));
}

void add_averaged_methods(Program& program) {
  add_copy(program, training::kForward, training::kAveragedForward);
  add_copy(program, training::kLoss, training::kAveragedLoss);
}

}  // namespace tern
