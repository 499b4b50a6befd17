#include "exporter/optimizers/options.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "dtypes/state_codes.h"

namespace tern::optimizers {
namespace {

constexpr std::string_view kOptimizerNames[] = {"sgd",   "adam",  "adamw", "adagrad", "rmsprop",   "adadelta", "adamax",
                                                "nadam", "radam", "asgd",  "rprop",   "adafactor", "lion",     "muon"};
static_assert(std::size(kOptimizerNames) == kOptimizers);

void require_range(bool is_in_range, const OptimizerOptions& o, std::string_view name, double value) {
  if (is_in_range) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: {} is {}, which is out of range", optimizer_name(o.optimizer), name, value));
}

/// A state that each parameter has, with the parameter's sizes.
struct ParameterState {
  std::string_view name;
  bool is_present = true;
  double initial = 0;  ///< value of each element before the first step
};

/// States with an 8-bit form, and the names of their scales.
constexpr std::pair<std::string_view, std::string_view> kScales[] = {
    {"momentum_buffer", "momentum_buffer_scale"}, {"exp_avg", "exp_avg_scale"},  {"exp_avg_sq", "exp_avg_sq_scale"},
    {"max_exp_avg_sq", "max_exp_avg_sq_scale"},   {"exp_inf", "exp_inf_scale"},  {"sum", "sum_scale"},
    {"square_avg", "square_avg_scale"},           {"grad_avg", "grad_avg_scale"}};

/// States of each parameter, except for adafactor.
std::vector<ParameterState> parameter_states(const OptimizerOptions& o) {
  switch (o.optimizer) {
    case Optimizer::sgd: return {{"momentum_buffer", o.momentum != 0}};
    case Optimizer::adam:
    case Optimizer::adamw: return {{"exp_avg"}, {"exp_avg_sq"}, {"max_exp_avg_sq", o.amsgrad}};
    case Optimizer::adagrad: return {{"sum", true, o.initial_accumulator}};
    case Optimizer::rmsprop: return {{"momentum_buffer", o.momentum > 0}, {"square_avg"}, {"grad_avg", o.centered}};
    case Optimizer::adadelta: return {{"acc_delta"}, {"square_avg"}};
    case Optimizer::adamax: return {{"exp_avg"}, {"exp_inf"}};
    case Optimizer::nadam:
    case Optimizer::radam: return {{"exp_avg"}, {"exp_avg_sq"}};
    case Optimizer::asgd: return {{"ax"}};
    case Optimizer::rprop: return {{"prev"}, {"step_size", true, o.lr}};
    case Optimizer::lion: return {{"exp_avg"}};
    case Optimizer::muon: return {{"momentum_buffer"}};
    case Optimizer::adafactor: break;
  }
  return {};
}

bool counts_steps(Optimizer o) {
  return o == Optimizer::adam || o == Optimizer::adamw || o == Optimizer::adagrad || o == Optimizer::adamax ||
         o == Optimizer::nadam || o == Optimizer::radam || o == Optimizer::asgd || o == Optimizer::adafactor;
}

/// Adds row and column variances of tensors with at least two axes (`axis` counts from the end and becomes 1), full
/// variances of the others.
void add_adafactor(std::vector<StateTensor>& states, const std::vector<TensorType>& params, const auto& state_type) {
  for (const auto& [name, axis] : {std::pair{"row_var", 1}, std::pair{"col_var", 2}, std::pair{"variance", 0}}) {
    for (std::size_t i = 0; i < params.size(); ++i) {
      if ((params[i].rank() > 1) != (axis > 0)) continue;
      TensorType t = state_type(i);
      if (axis > 0) t.shape[t.shape.size() - static_cast<std::size_t>(axis)] = Dim(1);
      states.push_back({name, static_cast<std::int64_t>(i), std::move(t), 0});
    }
  }
}

}  // namespace

std::string_view optimizer_name(Optimizer o) {
  return kOptimizerNames[static_cast<std::size_t>(o)];
}

int optimizer_from_name(std::string_view name) {
  const auto found = std::ranges::find(kOptimizerNames, name);
  return found == std::end(kOptimizerNames) ? -1 : static_cast<int>(found - std::begin(kOptimizerNames));
}

std::string full_name(const OptimizerOptions& o) {
  return fmt::format("{}{}", optimizer_name(o.optimizer), o.coded ? kCodedSuffix : "");
}

bool can_be_coded(Optimizer o) {
  using enum Optimizer;
  return o != adadelta && o != asgd && o != rprop && o != adafactor && o != muon;
}

std::string_view scale_name(std::string_view state) {
  return std::ranges::find(kScales, state, [](const auto& pair) { return pair.first; })->second;
}

bool is_coded(const OptimizerOptions& o, const TensorType& parameter) {
  if (!o.coded || parameter.dtype == DType::f64) return false;
  std::int64_t elements = 1;
  for (const Dim d : parameter.shape) {
    if (!d.is_const()) return false;
    elements *= d.value();
  }
  return has_coded_states(elements);
}

OptimizerOptions options_for(Optimizer optimizer) {
  OptimizerOptions o;
  o.optimizer = optimizer;
  switch (optimizer) {
    case Optimizer::sgd:
    case Optimizer::adam:
    case Optimizer::radam: break;
    case Optimizer::adamw: o.weight_decay = 1e-2; break;
    case Optimizer::adagrad: o.lr = 1e-2, o.eps = 1e-10; break;
    case Optimizer::rmsprop: o.lr = 1e-2; break;
    case Optimizer::adadelta: o.lr = 1, o.eps = 1e-6; break;
    case Optimizer::adamax:
    case Optimizer::nadam: o.lr = 2e-3; break;
    case Optimizer::asgd: o.lr = 1e-2, o.alpha = 0.75; break;
    case Optimizer::rprop: o.lr = 1e-2; break;
    case Optimizer::adafactor: o.lr = 1e-2, o.eps = 1e-3; break;
    case Optimizer::lion: o.lr = 1e-4, o.betas = {0.9, 0.99}; break;
    case Optimizer::muon: o.weight_decay = 0.1, o.momentum = 0.95, o.nesterov = true, o.eps = 1e-7; break;
  }
  return o;
}

void check_options(const OptimizerOptions& o) {
  require_range(o.lr >= 0, o, "lr", o.lr);
  require_range(o.weight_decay >= 0, o, "weight_decay", o.weight_decay);
  require_range(o.eps >= 0, o, "eps", o.eps);
  for (double beta : o.betas) require_range(beta >= 0 && beta < 1, o, "a beta", beta);
  require_range(o.momentum >= 0, o, "momentum", o.momentum);
  require_range(o.rho >= 0 && o.rho <= 1, o, "rho", o.rho);
  require_range(o.alpha >= 0, o, "alpha", o.alpha);
  require_range(o.lr_decay >= 0, o, "lr_decay", o.lr_decay);
  require_range(o.initial_accumulator >= 0, o, "initial_accumulator", o.initial_accumulator);
  require_range(o.momentum_decay >= 0, o, "momentum_decay", o.momentum_decay);
  require_range(o.etas[0] > 0 && o.etas[0] < 1 && o.etas[1] > 1, o, "an eta", o.etas[0]);
  require_range(o.step_sizes[0] <= o.step_sizes[1], o, "the least step size", o.step_sizes[0]);
  require_range(o.beta2_decay <= 0, o, "beta2_decay", o.beta2_decay);
  require_range(o.d >= 1, o, "d", o.d);
  if (o.coded && !can_be_coded(o.optimizer))
    fail(ErrorCode::invalid_argument, fmt::format("{} has no states of 8 bits", optimizer_name(o.optimizer)));
  if (o.coded && o.initial_accumulator != 0)
    require_range(false, o, "initial_accumulator of states of 8 bits", o.initial_accumulator);
  require_range(o.ns_steps > 0 && o.ns_steps < 100, o, "ns_steps", o.ns_steps);
  if (o.optimizer == Optimizer::sgd && o.nesterov)
    require_range(o.momentum > 0 && o.dampening == 0, o, "nesterov's momentum", o.momentum);
  if (o.optimizer == Optimizer::muon) require_range(!o.maximize, o, "maximize", 1);
}

bool is_dampened(const OptimizerOptions& o) {
  return o.optimizer == Optimizer::sgd && o.momentum != 0 && o.dampening != 0;
}

std::vector<StateTensor> optimizer_states(const OptimizerOptions& o, const std::vector<TensorType>& params,
                                          bool float32_states) {
  std::vector<StateTensor> states;
  if (counts_steps(o.optimizer) || is_dampened(o)) states.push_back({"step", -1, {DType::f32, {}}, 0});
  if (o.optimizer == Optimizer::nadam) states.push_back({"mu_product", -1, {DType::f32, {}}, 1});
  const auto state_type = [&](std::size_t i) {
    TensorType t = params[i];
    if (float32_states && element_size(t.dtype) == 2) t.dtype = DType::f32;
    return t;
  };
  if (o.optimizer == Optimizer::adafactor) add_adafactor(states, params, state_type);
  for (const ParameterState& state : parameter_states(o)) {
    if (!state.is_present) continue;
    std::vector<StateTensor> scales;
    for (std::size_t i = 0; i < params.size(); ++i) {
      TensorType t = state_type(i);
      if (is_coded(o, params[i])) {
        std::int64_t elements = 1;
        for (const Dim d : t.shape) elements *= d.value();
        scales.push_back(
            {scale_name(state.name), static_cast<std::int64_t>(i), {DType::f32, {Dim(elements / kStateBlock)}}, 0});
        t.dtype = DType::u8;
      }
      states.push_back({state.name, static_cast<std::int64_t>(i), std::move(t), state.initial});
    }
    states.insert(states.end(), scales.begin(), scales.end());
  }
  return states;
}

}  // namespace tern::optimizers
