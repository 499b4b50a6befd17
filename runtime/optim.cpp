#include <fmt/format.h>
#include <tern/error.h>
#include <tern/optim.h>

#include <algorithm>

#include "dtypes/convert.h"
#include "kernels/cpu/optim/job.h"
#include "threads/threads.h"

namespace tern::optim {
namespace {

static_assert(static_cast<int>(Kind::lion) == static_cast<int>(OptimKind::lion));

/// The states that a kind has with these options.
struct Kept {
  bool first, second, third;
};
Kept kept(const Options& o) {
  const OptimRecord& r = optim_record(static_cast<OptimKind>(o.kind));
  Kept k{r.m > 0, r.v > 0, false};
  if (o.kind == Kind::sgd || o.kind == Kind::rmsprop) k.first = o.momentum != 0;
  if (o.kind == Kind::adam || o.kind == Kind::adamw) k.third = o.amsgrad;
  if (o.kind == Kind::rmsprop) k.third = o.centered;
  return k;
}

std::array<double, 6> hyper_of(const Options& o) {
  const double lr = o.lr, decay = o.weight_decay, eps = o.eps, b1 = o.betas[0], b2 = o.betas[1];
  switch (o.kind) {
    case Kind::sgd: return {lr, o.momentum, o.dampening, decay, 0, 0};
    case Kind::adagrad: return {lr, o.lr_decay, 0, decay, eps, 0};
    case Kind::rmsprop: return {lr, o.alpha, o.momentum, decay, eps, 0};
    case Kind::adadelta: return {lr, o.rho, 0, decay, eps, 0};
    case Kind::nadam: return {lr, b1, b2, decay, eps, o.momentum_decay};
    case Kind::asgd: return {lr, o.lambd, o.alpha, decay, o.t0, 0};
    case Kind::rprop: return {0, o.etas[0], o.etas[1], 0, o.step_sizes[0], o.step_sizes[1]};
    case Kind::lion: return {lr, b1, b2, decay, 0, 0};
    default: return {lr, b1, b2, decay, eps, 0};
  }
}

void require(bool holds, const char* name, double value) {
  if (!holds)
    fail(ErrorCode::invalid_argument, fmt::format("tern::optim: {} is {}, which is out of range", name, value));
}

void check(const Options& o) {
  if (o.kind > Kind::lion) fail(ErrorCode::invalid_argument, "tern::optim: there is no such optimizer");
  require(o.lr >= 0, "lr", o.lr);
  require(o.weight_decay >= 0, "weight_decay", o.weight_decay);
  require(o.eps >= 0, "eps", o.eps);
  for (double b : o.betas) require(b >= 0 && b < 1, "a beta", b);
  require(o.momentum >= 0, "momentum", o.momentum);
  require(o.rho >= 0 && o.rho <= 1, "rho", o.rho);
  require(o.alpha >= 0 || o.kind != Kind::rmsprop, "alpha", o.alpha);
  require(o.lr_decay >= 0, "lr_decay", o.lr_decay);
  require(o.initial_sum >= 0, "initial_sum", o.initial_sum);
  require(o.momentum_decay >= 0, "momentum_decay", o.momentum_decay);
  require(o.etas[0] > 0 && o.etas[0] < 1 && o.etas[1] > 1, "an eta", o.etas[0]);
  require(o.step_sizes[0] <= o.step_sizes[1], "the least step size", o.step_sizes[0]);
  if (o.kind != Kind::sgd || !o.nesterov) return;
  require(o.momentum > 0, "the momentum that nesterov needs", o.momentum);
  require(o.dampening == 0, "the dampening that nesterov goes without", o.dampening);
}

bool is_trained(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::f16 || t == DType::bf16;
}

[[noreturn]] void refuse(const char* list, std::size_t i, const char* what) {
  fail(ErrorCode::invalid_argument, fmt::format("tern::optim: {} {} {}", list, i, what));
}

/// One type, which `first` has, and the sizes of the parameters.
void check_list(const char* name, std::span<const Tensor> list, std::span<const Tensor> params, bool written) {
  if (list.size() != params.size())
    fail(ErrorCode::invalid_argument,
         fmt::format("tern::optim: {} {} for {} parameters", list.size(), name, params.size()));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Tensor& t = list[i];
    if (!is_trained(t.dtype())) refuse(name, i, "is not of float32, float64, float16 or bfloat16");
    if (t.dtype() != list[0].dtype()) refuse(name, i, "has another type than the first: use a step for each type");
    if (t.sizes() != params[i].sizes()) refuse(name, i, "has other sizes than its parameter");
    if (!t.is_contiguous()) refuse(name, i, "is not contiguous");
    if (written && t.read_only()) refuse(name, i, "is read-only, and a step writes it");
  }
  const DType p = params.empty() ? DType::f32 : params[0].dtype(), t = list.empty() ? p : list[0].dtype();
  if (t != p && !(t == DType::f32 && element_size(p) == 2))
    refuse(name, 0, "has another type than its parameter; only float32 goes with 16 bits");
}

struct Lists : cpu::OptimMemory {
  std::array<std::span<const Tensor>, kOptimLists> tensors_of;
  double step = 0, product = 1, lr = 0, scale = 1;
  bool scaled = false;

  cpu::OptimTensors tensors(std::size_t i) const override {
    cpu::OptimTensors t;
    for (std::size_t k = 0; k < kOptimLists; ++k) {
      if (tensors_of[k].empty()) continue;
      const auto* const data = static_cast<const std::byte*>(tensors_of[k][i].data());
      t.in[k] = data;
      if (static_cast<OptimList>(k) != OptimList::grad) t.out[k] = const_cast<std::byte*>(data);
    }
    const auto number = [&](OptimList list, const double& value) {
      t.in[static_cast<std::size_t>(list)] = reinterpret_cast<const std::byte*>(&value);
    };
    number(OptimList::step, step);
    number(OptimList::product, product);
    number(OptimList::lr, lr);
    if (scaled) number(OptimList::grad_scale, scale);
    return t;
  }
};

}  // namespace

Options defaults(Kind kind) {
  Options o;
  o.kind = kind;
  switch (kind) {
    case Kind::adamw: o.weight_decay = 1e-2; break;
    case Kind::adagrad: o.lr = 1e-2, o.eps = 1e-10; break;
    case Kind::rmsprop:
    case Kind::rprop: o.lr = 1e-2; break;
    case Kind::adadelta: o.lr = 1, o.eps = 1e-6; break;
    case Kind::adamax:
    case Kind::nadam: o.lr = 2e-3; break;
    case Kind::asgd: o.lr = 1e-2, o.alpha = 0.75; break;
    case Kind::lion: o.lr = 1e-4, o.betas = {0.9, 0.99}; break;
    default: break;
  }
  return o;
}

States make_states(const Options& options, std::span<const Tensor> params, Precision16 precision) {
  check(options);
  check_list("parameter", params, params, false);
  const Kept k = kept(options);
  States s;
  const auto fill = [&](std::vector<Tensor>& list, bool there, double value) {
    for (std::size_t i = 0; there && i < params.size(); ++i) {
      const DType p = params[i].dtype();
      Tensor t(precision != Precision16::same && element_size(p) == 2 ? DType::f32 : p, params[i].sizes());
      if (value != 0) {
        const std::vector<double> values(static_cast<std::size_t>(t.numel()), value);
        convert(values.data(), DType::f64, t.data(), t.dtype(), t.numel());
      }
      list.push_back(std::move(t));
    }
  };
  fill(s.first, k.first, 0);
  fill(s.second, k.second,
       options.kind == Kind::adagrad ? options.initial_sum
       : options.kind == Kind::rprop ? options.lr
                                     : 0);
  fill(s.third, k.third, 0);
  if (precision != Precision16::masters || params.empty() || element_size(params[0].dtype()) != 2) return s;
  for (const Tensor& p : params) {
    Tensor t(DType::f32, p.sizes());
    const Tensor dense = p.contiguous();
    convert(dense.data(), p.dtype(), t.data(), DType::f32, t.numel());
    s.masters.push_back(std::move(t));
  }
  return s;
}

void step(const Options& options, std::span<const Tensor> params, std::span<const Tensor> grads, States& states,
          const StepSettings& settings) {
  check(options);
  check_list("parameter", params, params, true);
  check_list("gradient", grads, params, false);
  const Kept k = kept(options);
  const auto check_states = [&](const char* name, const std::vector<Tensor>& list, bool there) {
    if (there || !list.empty()) check_list(name, list, there ? params : std::span<const Tensor>(), true);
  };
  check_states("first state", states.first, k.first);
  check_states("second state", states.second, k.second);
  check_states("third state", states.third, k.third);
  check_states("master weight", states.masters, !states.masters.empty());
  if (settings.found_inf) return;

  cpu::OptimJob job;
  cpu::OptimOptions& o = job.options;
  o.kind = static_cast<OptimKind>(options.kind);
  o.hyper = hyper_of(options);
  o.nesterov = options.nesterov;
  o.first = options.kind == Kind::sgd && options.momentum != 0 && states.steps == 0;
  o.maximize = options.maximize;
  o.decoupled = options.decoupled_weight_decay || options.kind == Kind::adamw;
  Lists lists;
  const auto put = [&](OptimList list, std::span<const Tensor> tensors) {
    const auto i = static_cast<std::size_t>(list);
    lists.tensors_of[i] = tensors;
    if (!tensors.empty()) job.dtypes[i] = tensors[0].dtype();
  };
  put(OptimList::param, params);
  put(OptimList::grad, grads);
  put(OptimList::m, states.first);
  put(OptimList::v, states.second);
  put(OptimList::third, states.third);
  put(OptimList::master, states.masters);
  lists.step = static_cast<double>(states.steps + 1);
  lists.product = states.mu_product;
  lists.lr = settings.lr < 0 ? options.lr : settings.lr;
  lists.scale = settings.grad_scale;
  lists.scaled = settings.grad_scale != 1;
  for (OptimList list : {OptimList::step, OptimList::product, OptimList::lr})
    job.dtypes[static_cast<std::size_t>(list)] = DType::f64;
  if (lists.scaled) job.dtypes[static_cast<std::size_t>(OptimList::grad_scale)] = DType::f64;
  std::vector<std::int64_t> ends;
  std::int64_t end = 0;
  for (const Tensor& p : params) ends.push_back(end += p.numel());
  job.ends = ends;
  job.list = &lists;
  const ThreadScope scope(Threads::chosen(settings.threads));
  cpu::run_optim(job);
  states.mu_product = cpu::optim_settings(o, {lists.step, lists.product, lists.lr}).product;
  ++states.steps;
}

}  // namespace tern::optim
