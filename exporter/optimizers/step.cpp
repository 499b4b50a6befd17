#include "exporter/optimizers/step.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/optimizers/list_step.h"
#include "exporter/optimizers/parts.h"

namespace tern::optimizers {
namespace {

using Values = std::vector<ValueId>;

/// Single-op form of an optimizer: its kind, and its states' names for the lists m, v and third.
struct AsList {
  OptimKind kind;
  std::array<std::string_view, 3> states;
  std::vector<double> hyper;
};

AsList as_list(const OptimizerOptions& o) {
  const double lr = o.lr, decay = o.weight_decay, eps = o.eps, b1 = o.betas[0], b2 = o.betas[1];
  switch (o.optimizer) {
    case Optimizer::sgd: return {OptimKind::sgd, {"momentum_buffer", "", ""}, {lr, o.momentum, o.dampening, decay, 0}};
    case Optimizer::adam:
    case Optimizer::adamw:
      return {o.optimizer == Optimizer::adam ? OptimKind::adam : OptimKind::adamw,
              {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
              {lr, b1, b2, decay, eps}};
    case Optimizer::adagrad: return {OptimKind::adagrad, {"", "sum", ""}, {lr, o.lr_decay, 0, decay, eps}};
    case Optimizer::rmsprop:
      return {OptimKind::rmsprop, {"momentum_buffer", "square_avg", "grad_avg"}, {lr, o.alpha, o.momentum, decay, eps}};
    case Optimizer::adadelta: return {OptimKind::adadelta, {"acc_delta", "square_avg", ""}, {lr, o.rho, 0, decay, eps}};
    case Optimizer::adamax: return {OptimKind::adamax, {"exp_avg", "exp_inf", ""}, {lr, b1, b2, decay, eps}};
    case Optimizer::nadam:
      return {OptimKind::nadam, {"exp_avg", "exp_avg_sq", ""}, {lr, b1, b2, decay, eps, o.momentum_decay}};
    case Optimizer::radam: return {OptimKind::radam, {"exp_avg", "exp_avg_sq", ""}, {lr, b1, b2, decay, eps}};
    case Optimizer::asgd: return {OptimKind::asgd, {"ax", "", ""}, {lr, o.lambd, o.alpha, decay, o.t0}};
    case Optimizer::rprop:
      return {
          OptimKind::rprop, {"prev", "step_size", ""}, {0, o.etas[0], o.etas[1], 0, o.step_sizes[0], o.step_sizes[1]}};
    case Optimizer::lion: return {OptimKind::lion, {"exp_avg", "", ""}, {lr, b1, b2, decay, 0}};
    case Optimizer::adafactor:
    case Optimizer::muon: break;
  }
  fail(ErrorCode::internal, "this optimizer is more than one op");
}

}  // namespace

NewValues one_op(const Step& s) {
  const AsList result = as_list(s.o);
  ListStep step{.kind = result.kind, .hyper = result.hyper, .maximize = s.o.maximize, .lists = {}};
  const bool decouples = s.o.optimizer == Optimizer::nadam || s.o.optimizer == Optimizer::radam;
  if (s.o.optimizer == Optimizer::sgd && s.o.nesterov) step.mode |= kOptimNesterov;
  if (decouples && s.o.decoupled) step.mode |= kOptimDecoupled;
  const std::pair<OptimList, std::string_view> kStates[] = {{OptimList::m, result.states[0]},
                                                            {OptimList::v, result.states[1]},
                                                            {OptimList::third, result.states[2]},
                                                            {OptimList::step, "step"},
                                                            {OptimList::product, "mu_product"}};
  step[OptimList::param] = s.params;
  step[OptimList::grad] = s.grads;
  for (const auto& [list, name] : kStates) {
    const auto found = s.states.find(name);
    if (found == s.states.end()) continue;
    step[list] = found->second;
    if (s.b.dtype(found->second.front()) == DType::u8) step[scales_of(list)] = s.states.at(scale_name(name));
  }
  if (!step[OptimList::step].empty()) step.mode |= kOptimAdvance;
  if (s.inputs.lr != kNoValue && result.kind != OptimKind::rprop) step[OptimList::lr] = {s.inputs.lr};
  if (s.inputs.grad_scale != kNoValue) step[OptimList::grad_scale] = {s.inputs.grad_scale};
  if (s.inputs.found_inf != kNoValue) step[OptimList::found_inf] = {s.inputs.found_inf};
  step[OptimList::master] = s.inputs.masters;
  const ListResults results = add_list_step(s.b, step);
  NewValues results_out;
  results_out.params = results[static_cast<std::size_t>(OptimList::param)];
  results_out.masters = results[static_cast<std::size_t>(OptimList::master)];
  for (const auto& [list, name] : kStates) {
    results_out.states[name] = results[static_cast<std::size_t>(list)];
    if (!step[list].empty() && s.b.dtype(step[list].front()) == DType::u8)
      results_out.states[scale_name(name)] = results[static_cast<std::size_t>(scales_of(list))];
  }
  return results_out;
}

Values seen_gradients(const Step& s) {
  if (!s.o.maximize && s.inputs.grad_scale == kNoValue) return s.grads;
  Values scaled_gradients;
  for (ValueId g : s.grads) {
    const char* text = s.o.maximize ? "-g" : "g";
    if (s.inputs.grad_scale == kNoValue) {
      scaled_gradients.push_back(s.b.expr(text, {{"g", g}}, s.b.dtype(g)));
    } else {
      scaled_gradients.push_back(
          s.b.expr(std::string(text) + " / s", {{"g", g}, {"s", s.inputs.grad_scale}}, s.b.dtype(g)));
    }
  }
  return scaled_gradients;
}

ValueId unless_infinite(const Step& s, ValueId old_value, ValueId v) {
  if (s.inputs.found_inf == kNoValue) return v;
  return s.b.expr("i != 0 ? old : v", {{"i", s.inputs.found_inf}, {"old", old_value}, {"v", v}}, s.b.dtype(old_value));
}

ValueId rate(const Step& s, DType dtype) {
  return s.inputs.lr == kNoValue ? s.b.scalar(s.o.lr, dtype) : s.b.reshape(s.b.cast(s.inputs.lr, dtype), {});
}

StepResults optimizer_step(Builder& b, const OptimizerOptions& o, const Values& params, const Values& grads,
                           const Values& states, const StepInputs& inputs) {
  check_options(o);
  if (params.size() != grads.size() || (!inputs.masters.empty() && inputs.masters.size() != params.size()))
    fail(ErrorCode::invalid_argument, fmt::format("{} parameters, {} gradients and {} master weights", params.size(),
                                                  grads.size(), inputs.masters.size()));
  std::vector<TensorType> types;
  for (ValueId v : params) types.push_back(b.type(v));
  const std::vector<StateTensor> table = optimizer_states(o, types);
  if (table.size() != states.size())
    fail(ErrorCode::invalid_argument,
         fmt::format("{} has {} states for {} parameters, but {} were given", optimizer_name(o.optimizer), table.size(),
                     params.size(), states.size()));
  StepResults results_out;
  if (params.empty()) {
    results_out.states = states;
    return results_out;
  }
  Step s{b, o, params, grads, inputs, {}};
  for (std::size_t i = 0; i < states.size(); ++i) s.states[table[i].name].push_back(states[i]);
  NewValues result = o.optimizer == Optimizer::adafactor ? adafactor_step(s)
                     : o.optimizer == Optimizer::muon    ? muon_step(s)
                     : is_dampened(o)                    ? dampened_step(s)
                                                         : one_op(s);
  results_out.params = std::move(result.params);
  results_out.masters = std::move(result.masters);
  std::map<std::string_view, std::size_t> next;
  for (const StateTensor& t : table) results_out.states.push_back(result.states.at(t.name).at(next[t.name]++));
  return results_out;
}

}  // namespace tern::optimizers
