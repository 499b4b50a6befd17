// Fused optimizer steps.
#include <algorithm>

#include "exporter/lower/lower.h"
#include "exporter/optimizers/list_step.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

struct OptimStep {
  OptimKind kind;
  ArgumentName params = "self", grads = "grads", m, v, vmax, steps;
  std::vector<ArgumentName> untouched;  ///< lists declared mutable by the schema, returned unchanged
};

double numeric(const Call& c, ArgumentName name) {
  return c.is_tensor(name) ? 0 : c.number_or(name, 0);
}

/// True if the tensors of a list differ in dtype; an optimizer op requires a single dtype.
bool is_mixed(Builder& b, const Values& list) {
  return std::ranges::any_of(list, [&](ValueId v) { return b.dtype(v) != b.dtype(list[0]); });
}

using Lists = optimizers::ListStep;
constexpr OptimList kOptimLarge[] = {OptimList::param, OptimList::grad,  OptimList::m,
                                     OptimList::v,     OptimList::third, OptimList::step};

/// Adds one node over all parameters, or a node per parameter for mixed dtypes.
optimizers::ListResults add_step(Builder& b, const Lists& operand_lists) {
  if (operand_lists[OptimList::param].empty()) return {};
  if (std::ranges::none_of(operand_lists.lists, [&](const Values& v) { return is_mixed(b, v); }))
    return optimizers::add_list_step(b, operand_lists);
  optimizers::ListResults results;
  for (std::size_t i = 0; i < operand_lists[OptimList::param].size(); ++i) {
    Lists element_lists = operand_lists;
    for (OptimList list : kOptimLarge) {
      if (!element_lists[list].empty()) element_lists[list] = {operand_lists[list].at(i)};
    }
    const optimizers::ListResults element_results = optimizers::add_list_step(b, element_lists);
    for (std::size_t k = 0; k < element_results.size(); ++k)
      results[k].insert(results[k].end(), element_results[k].begin(), element_results[k].end());
  }
  return results;
}

/// The new values come in the schema's order: parameters, gradients, then each list of states.
Values step(Builder& b, const Call& c, const OptimStep& s, std::vector<double> hyper, std::int64_t mode) {
  Lists lists{
      .kind = s.kind, .hyper = std::move(hyper), .mode = mode, .maximize = c.flag_or("maximize", false), .lists = {}};
  const ArgumentName names[] = {s.params, s.grads, s.m, s.v, s.vmax, s.steps};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (!names[i].empty()) lists[kOptimLarge[i]] = c.tensors(names[i]);
  }
  if (c.is_tensor("lr")) lists[OptimList::lr] = {c.tensor("lr")};
  if (c.has_argument("grad_scale")) lists[OptimList::grad_scale] = {c.tensor("grad_scale")};
  if (c.has_argument("found_inf")) lists[OptimList::found_inf] = {c.tensor("found_inf")};
  const optimizers::ListResults results = add_step(b, lists);
  Values flat_results;
  for (OptimList list : kOptimLarge) {
    if (list == OptimList::step) continue;
    const Values& result = results[static_cast<std::size_t>(list)];
    const Values& new_values = list == OptimList::grad && result.empty() ? lists[list] : result;
    flat_results.insert(flat_results.end(), new_values.begin(), new_values.end());
  }
  for (ArgumentName name : s.untouched) {
    const Values& unchanged = c.tensors(name);
    flat_results.insert(flat_results.end(), unchanged.begin(), unchanged.end());
  }
  return flat_results;
}

Values sgd(Builder& b, const Call& c) {
  const std::int64_t mode = (c.flag("nesterov") ? 1 : 0) + (c.flag("is_first_step") ? 2 : 0);
  return step(b, c, {.kind = OptimKind::sgd, .m = "momentum_buffer_list"},
              {numeric(c, "lr"), c.number("momentum"), c.number("dampening"), c.number("weight_decay"), 0}, mode);
}

Values adam_like(Builder& b, const Call& c, OptimKind kind) {
  OptimStep s{.kind = kind, .m = "exp_avgs", .v = "exp_avg_sqs", .steps = "state_steps"};
  if (c.flag("amsgrad")) {
    s.vmax = "max_exp_avg_sqs";
  } else {
    s.untouched = {"max_exp_avg_sqs"};
  }
  return step(b, c, s,
              {numeric(c, "lr"), c.number("beta1"), c.number("beta2"), c.number("weight_decay"), c.number("eps")}, 0);
}
Values adam(Builder& b, const Call& c) {
  return adam_like(b, c, OptimKind::adam);
}
Values adamw(Builder& b, const Call& c) {
  return adam_like(b, c, OptimKind::adamw);
}

Values adagrad(Builder& b, const Call& c) {
  return step(b, c,
              {.kind = OptimKind::adagrad, .v = "state_sums", .steps = "state_steps", .untouched = {"state_steps"}},
              {numeric(c, "lr"), c.number("lr_decay"), 0, c.number("weight_decay"), c.number("eps")}, 0);
}

constexpr Lowering kOptimLowerings[] = {
    {"aten._fused_adagrad.default", adagrad},  {"aten._fused_adagrad.tensor_lr", adagrad},
    {"aten._fused_adagrad_.default", adagrad}, {"aten._fused_adagrad_.tensor_lr", adagrad},
    {"aten._fused_adam.default", adam},        {"aten._fused_adam.tensor_lr", adam},
    {"aten._fused_adam_.default", adam},       {"aten._fused_adam_.tensor_lr", adam},
    {"aten._fused_adamw.default", adamw},      {"aten._fused_adamw.tensor_lr", adamw},
    {"aten._fused_adamw_.default", adamw},     {"aten._fused_adamw_.tensor_lr", adamw},
    {"aten._fused_sgd.default", sgd},          {"aten._fused_sgd.tensor_lr", sgd},
    {"aten._fused_sgd_.default", sgd},         {"aten._fused_sgd_.tensor_lr", sgd},
};

}  // namespace

std::span<const Lowering> optim_lowerings() {
  return kOptimLowerings;
}

}  // namespace tern
