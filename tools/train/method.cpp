#include "tools/train/method.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>

#include "exporter/training/methods.h"
#include "schema/program.h"
#include "tools/names.h"
#include "tools/text.h"

namespace tern::train {
namespace {

const FunctionInfo* find(const Model& model, std::string_view name) {
  const std::vector<FunctionInfo>& functions = model.functions();
  const auto found = std::ranges::find(functions, name, &FunctionInfo::name);
  return found == functions.end() ? nullptr : &*found;
}

template <class T>
std::optional<T> number_in(const Model& model, std::string_view key) {
  for (const auto& [k, text] : model.metadata()) {
    T value{};
    if (k == key && std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc()) return value;
  }
  return {};
}

bool is_number(const ValueInfo& v) {
  return is_floating(v.dtype) &&
         std::ranges::all_of(v.sizes, [](const SizeInfo& s) { return s.constant && s.value == 1; });
}

std::string text_in(const Model& model, std::string_view key) {
  for (const auto& [k, text] : model.metadata()) {
    if (k == key) return text;
  }
  return {};
}

std::size_t loss_of(const FunctionInfo& f) {
  auto loss = std::ranges::find(f.outputs, training::kLossResult, &ValueInfo::name);
  if (loss == f.outputs.end()) loss = std::ranges::find_if(f.outputs, is_number);
  if (loss == f.outputs.end() || !is_number(*loss))
    fail(ErrorCode::invalid_argument, fmt::format("'{}' has no result 'loss' of one float", escape_name(f.name)));
  return static_cast<std::size_t>(loss - f.outputs.begin());
}

bool has_same_inputs(const FunctionInfo& a, const FunctionInfo& b) {
  return std::ranges::equal(a.inputs, b.inputs, {}, &ValueInfo::name, &ValueInfo::name) &&
         std::ranges::equal(a.inputs, b.inputs, {}, &ValueInfo::dtype, &ValueInfo::dtype);
}

/// Named steps of the archive's metadata: "critic actor:2".
std::vector<FurtherStep> named_steps(const Model& model) {
  std::vector<FurtherStep> steps;
  const std::string text = text_in(model, training::kStepsKey);
  constexpr std::size_t kMaxSteps = 1000;
  for (std::string_view left = text; !left.empty() && steps.size() < kMaxSteps;) {
    const std::size_t space = left.find(' ');
    const std::string_view item = left.substr(0, space);
    left = space == std::string_view::npos ? "" : left.substr(space + 1);
    const std::size_t colon = item.find(':');
    FurtherStep step;
    if (colon != std::string_view::npos)
      std::from_chars(item.data() + colon + 1, item.data() + item.size(), step.every);
    const FunctionInfo* f = find(model, item.substr(0, colon));
    if (f == nullptr || step.every == 0 || (!steps.empty() && !has_same_inputs(*f, steps[0].function))) {
      fail(ErrorCode::bad_file, fmt::format("the archive's metadata {} names '{}', which is no step of it",
                                            training::kStepsKey, escape_name(std::string(item))));
    }
    step.function = *f;
    step.loss_result = loss_of(*f);
    steps.push_back(std::move(step));
  }
  return steps;
}

const FunctionInfo& step_of(const Model& model, const std::string& name) {
  if (const FunctionInfo* f = find(model, name.empty() ? training::kTrainStep : name)) return *f;
  if (name.empty() && model.functions().size() == 1) return model.functions()[0];
  std::string names;
  for (const FunctionInfo& f : model.functions()) names += (names.empty() ? "" : ", ") + escape_name(f.name);
  fail(ErrorCode::invalid_argument,
       fmt::format("the archive has no method '{}' (it has: {}); 'tern export MODEL.pt2 --train --loss LOSS' makes one",
                   name.empty() ? std::string(training::kTrainStep) : escape_name(name), names));
}

/// Other exporters' methods may have the same names.
bool gives_loss(const FunctionInfo& f) {
  return !f.outputs.empty() && is_number(f.outputs[0]);
}

bool accumulates(const Model& model, const std::string& step) {
  const FunctionInfo* accumulate = find(model, method_of(model, training::kAccumulate, step));
  return accumulate != nullptr && gives_loss(*accumulate) &&
         find(model, method_of(model, training::kApply, step)) != nullptr;
}

bool has_collective(const Model& model, const std::string& name) {
  const Program& program = *model.program();
  const int found = program.find_entry(name);
  return found >= 0 && std::ranges::any_of(program.functions[static_cast<std::size_t>(found)].nodes,
                                           [](const Node& n) { return n.op == Op::collective; });
}

}  // namespace

std::string method_of(const Model& model, std::string_view method, const std::string& step) {
  std::string name = training::method_of_step(method, step);
  return find(model, name) != nullptr ? name : std::string(method);
}

Methods find_methods(const Model& model, const std::string& name) {
  Methods m;
  if (name.empty()) m.further = named_steps(model);
  m.step = m.further.empty() ? step_of(model, name) : m.further[0].function;
  if (!m.further.empty()) m.further.erase(m.further.begin());
  if (std::ranges::none_of(model.states(), &StateInfo::is_mutable)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("'{}' updates no state, so it does not train; 'tern export --train' makes an archive that does",
                     escape_name(m.step.name)));
  }
  const auto rate = std::ranges::find(m.step.inputs, training::kRate, &ValueInfo::name);
  if (rate != m.step.inputs.end()) {
    if (!is_number(*rate) || rate + 1 != m.step.inputs.end())
      fail(ErrorCode::invalid_argument, "the input 'lr' must be one float, and the last input");
    m.takes_rate = true;
    m.rate_type = rate->dtype;
    m.rate_axes = rate->sizes.size();
  }
  m.loss_result = loss_of(m.step);
  const auto norm = std::ranges::find(m.step.outputs, training::kNormResult, &ValueInfo::name);
  if (norm != m.step.outputs.end() && is_number(*norm))
    m.norm_result = static_cast<std::size_t>(norm - m.step.outputs.begin());
  m.loss_name = text_in(model, training::kLossKey);
  if (const FunctionInfo* f = find(model, training::kLoss); f != nullptr && gives_loss(*f)) m.loss = *f;
  if (const FunctionInfo* f = find(model, training::kAveragedLoss); f != nullptr && gives_loss(*f)) m.loss = *f;
  m.accumulates = accumulates(model, m.step.name) && std::ranges::all_of(m.further, [&](const FurtherStep& s) {
                    return accumulates(model, s.function.name);
                  });
  m.communicates = has_collective(model, m.step.name);
  m.weighs = number_in<std::uint64_t>(model, training::kBucketKey).has_value();
  m.class_axis = number_in<std::int64_t>(model, training::kClassAxisKey);
  for (const auto& [key, value] : model.metadata()) {
    if (key == training::kOptimizerKey) m.optimizer = value;
  }
  m.rate = number_in<double>(model, training::kRateKey).value_or(m.rate);
  return m;
}

}  // namespace tern::train
