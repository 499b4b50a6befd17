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
  const std::vector<FunctionInfo>& all = model.functions();
  const auto found = std::ranges::find(all, name, &FunctionInfo::name);
  return found == all.end() ? nullptr : &*found;
}

template <class T>
std::optional<T> number_in(const Model& model, std::string_view key) {
  for (const auto& [k, text] : model.metadata()) {
    T value{};
    if (k == key && std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc()) return value;
  }
  return {};
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

bool is_number(const ValueInfo& v) {
  return is_floating(v.dtype) &&
         std::ranges::all_of(v.sizes, [](const SizeInfo& s) { return s.constant && s.value == 1; });
}

/// Other exporters' methods may have the same names.
bool gives_loss(const FunctionInfo& f) {
  return !f.outputs.empty() && is_number(f.outputs[0]);
}

bool has_collective(const Model& model, const std::string& name) {
  const Program& program = *model.program();
  const int found = program.find_entry(name);
  return found >= 0 && std::ranges::any_of(program.functions[static_cast<std::size_t>(found)].nodes,
                                           [](const Node& n) { return n.op == Op::collective; });
}

}  // namespace

Methods find_methods(const Model& model, const std::string& name) {
  Methods m;
  m.step = step_of(model, name);
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
  auto loss = std::ranges::find(m.step.outputs, training::kLossResult, &ValueInfo::name);
  if (loss == m.step.outputs.end()) loss = std::ranges::find_if(m.step.outputs, is_number);
  if (loss == m.step.outputs.end() || !is_number(*loss)) {
    fail(ErrorCode::invalid_argument, fmt::format("'{}' has no result 'loss' of one float", escape_name(m.step.name)));
  }
  m.loss_result = static_cast<std::size_t>(loss - m.step.outputs.begin());
  if (const FunctionInfo* f = find(model, training::kLoss); f != nullptr && gives_loss(*f)) m.loss = *f;
  const FunctionInfo* accumulate = find(model, training::kAccumulate);
  m.accumulates = accumulate != nullptr && gives_loss(*accumulate) && find(model, training::kApply) != nullptr;
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
