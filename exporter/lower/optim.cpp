// Fused optimizer steps, and communication between processes.
#include "exporter/lower/lower.h"
#include "schema/kinds.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

struct Step {
  OptimKind kind;
  ArgumentName params = "self", grads = "grads", m, v, vmax, steps;
  std::vector<ArgumentName> untouched;  ///< lists that the schema says are written, and are not
};

double numeric(const Call& c, ArgumentName name) {
  return c.is_tensor(name) ? 0 : c.number_or(name, 0);
}

/// One node for each parameter. The new values come in the schema's order: parameters, gradients, then each list of
/// states.
Values step(Builder& b, const Call& c, const Step& s, std::vector<double> hyper, std::int64_t mode) {
  const Values& params = c.tensors(s.params);
  const auto list = [&](ArgumentName name) { return name.empty() ? Values{} : c.tensors(name); };
  const Values grads = list(s.grads), m = list(s.m), v = list(s.v), vmax = list(s.vmax), steps = list(s.steps);
  const auto optional = [&](ArgumentName name) { return c.has(name) ? c.tensor(name) : kNoValue; };
  const ValueId lr = c.is_tensor("lr") ? c.tensor("lr") : kNoValue;
  const ValueId scale = optional("grad_scale"), inf = optional("found_inf");
  const auto at = [](const Values& values, std::size_t i) { return i < values.size() ? values[i] : kNoValue; };
  Values new_params, new_grads, new_m, new_v, new_vmax;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Values operands = {params[i], at(grads, i), at(m, i), at(v, i), at(vmax, i), at(steps, i), lr, scale, inf};
    const Values out =
        b.add_all(Op::optim, operands,
                  {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(s.kind))), attr_numbers(AttrKey::hyper, hyper),
                   attr(AttrKey::mode, Dim(mode)), attr(AttrKey::maximize, Dim(c.flag_or("maximize", false)))});
    std::size_t k = 0;
    new_params.push_back(out.at(k++));
    new_grads.push_back(scale != kNoValue ? out.at(k++) : grads.at(i));
    if (i < m.size()) new_m.push_back(out.at(k++));
    if (i < v.size()) new_v.push_back(out.at(k++));
    if (i < vmax.size()) new_vmax.push_back(out.at(k++));
  }
  Values all = new_params;
  for (const Values* part : {&new_grads, &new_m, &new_v, &new_vmax}) all.insert(all.end(), part->begin(), part->end());
  for (ArgumentName name : s.untouched) {
    const Values& same = c.tensors(name);
    all.insert(all.end(), same.begin(), same.end());
  }
  return all;
}

Values sgd(Builder& b, const Call& c) {
  const std::int64_t mode = (c.flag("nesterov") ? 1 : 0) + (c.flag("is_first_step") ? 2 : 0);
  return step(b, c, {.kind = OptimKind::sgd, .m = "momentum_buffer_list"},
              {numeric(c, "lr"), c.number("momentum"), c.number("dampening"), c.number("weight_decay"), 0}, mode);
}

Values adam_like(Builder& b, const Call& c, OptimKind kind) {
  Step s{.kind = kind, .m = "exp_avgs", .v = "exp_avg_sqs", .steps = "state_steps"};
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

Values collective(Builder& b, const Call& c, CollectiveKind kind, std::int64_t groups, std::string_view reduce,
                  std::int64_t root = 0) {
  if (groups == 1) return {c.tensor("input")};
  return {b.add(Op::collective, {c.tensor("input")},
                {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(kind))), attr(AttrKey::groups, Dim(groups)),
                 attr_text(AttrKey::text, reduce), attr_text(AttrKey::name, c.text_or("group_name", "")),
                 attr(AttrKey::k, Dim(root))})};
}
Values all_reduce(Builder& b, const Call& c) {
  return collective(b, c, CollectiveKind::all_reduce, 0, c.text("reduce_op"));
}
Values all_gather(Builder& b, const Call& c) {
  return collective(b, c, CollectiveKind::all_gather, c.integer("group_size"), "");
}
Values reduce_scatter(Builder& b, const Call& c) {
  return collective(b, c, CollectiveKind::reduce_scatter, c.integer("group_size"), c.text("reduce_op"));
}
Values broadcast(Builder& b, const Call& c) {
  return collective(b, c, CollectiveKind::broadcast, 0, "", c.integer("src"));
}
Values wait(Builder&, const Call& c) {
  return {c.tensor("tensor")};
}

constexpr Lowering kTable[] = {
    {"_c10d_functional.all_gather_into_tensor.default", all_gather},
    {"_c10d_functional.all_reduce.default", all_reduce},
    {"_c10d_functional.broadcast.default", broadcast},
    {"_c10d_functional.reduce_scatter_tensor.default", reduce_scatter},
    {"_c10d_functional.wait_tensor.default", wait},
    {"aten._fused_adagrad.default", adagrad},
    {"aten._fused_adagrad.tensor_lr", adagrad},
    {"aten._fused_adagrad_.default", adagrad},
    {"aten._fused_adagrad_.tensor_lr", adagrad},
    {"aten._fused_adam.default", adam},
    {"aten._fused_adam.tensor_lr", adam},
    {"aten._fused_adam_.default", adam},
    {"aten._fused_adam_.tensor_lr", adam},
    {"aten._fused_adamw.default", adamw},
    {"aten._fused_adamw.tensor_lr", adamw},
    {"aten._fused_adamw_.default", adamw},
    {"aten._fused_adamw_.tensor_lr", adamw},
    {"aten._fused_sgd.default", sgd},
    {"aten._fused_sgd.tensor_lr", sgd},
    {"aten._fused_sgd_.default", sgd},
    {"aten._fused_sgd_.tensor_lr", sgd},
};

}  // namespace

std::span<const Lowering> optim_lowerings() {
  return kTable;
}

}  // namespace tern
