#include <fmt/format.h>
#include <tern/error.h>
#include <tern/optim.h>

#include <algorithm>

#include "dtypes/convert.h"
#include "dtypes/state_codes.h"
#include "kernels/cpu/optim/job.h"
#include "runtime/device_tensor.h"
#include "threads/threads.h"

namespace tern::optim {
namespace {

static_assert(static_cast<int>(Kind::lion) == static_cast<int>(OptimKind::lion));

/// State tensors of an optimizer kind with these options.
struct StateTensorSet {
  bool first, second, third;
};
StateTensorSet state_tensors(const Options& o) {
  const OptimRecord& r = optim_record(static_cast<OptimKind>(o.kind));
  StateTensorSet k{r.m > 0, r.v > 0, false};
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
  if (o.kind > Kind::lion) fail(ErrorCode::invalid_argument, "tern::optim: unknown optimizer");
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
  const OptimRecord& record = optim_record(static_cast<OptimKind>(o.kind));
  if (o.eight_bits && record.codes == "---")
    fail(ErrorCode::invalid_argument, "tern::optim: this optimizer has no states of 8 bits");
  require(!o.eight_bits || o.initial_sum == 0, "initial_sum of states of 8 bits", o.initial_sum);
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

constexpr const char* kOnDevice = "is on a device, but steps run on the host; pass it as to(\"cpu\")";

/// Checks for a single dtype, the dtype of `first`, and for the parameters' sizes.
void check_list(const char* name, std::span<const Tensor> list, std::span<const Tensor> params, bool written) {
  if (list.size() != params.size())
    fail(ErrorCode::invalid_argument,
         fmt::format("tern::optim: {} {} for {} parameters", list.size(), name, params.size()));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Tensor& t = list[i];
    if (!TensorMemory::is_on_host(t)) refuse(name, i, kOnDevice);
    if (!is_trained(t.dtype())) refuse(name, i, "is not of float32, float64, float16 or bfloat16");
    if (t.dtype() != list[0].dtype()) refuse(name, i, "differs in type from the first: use a step for each type");
    if (t.sizes() != params[i].sizes()) refuse(name, i, "differs in size from its parameter");
    if (!t.is_contiguous()) refuse(name, i, "is not contiguous");
    if (written && t.read_only()) refuse(name, i, "is read-only, but a step writes it");
  }
  const DType p = params.empty() ? DType::f32 : params[0].dtype(), t = list.empty() ? p : list[0].dtype();
  if (t != p && !(t == DType::f32 && element_size(p) == 2))
    refuse(name, 0, "differs in type from its parameter; a parameter of 16 bits also allows float32");
}

bool is_coded(const Options& o, const Tensor& param) {
  return o.eight_bits && param.dtype() != DType::f64 && has_coded_states(param.numel());
}

/// Checks one list of states: codes if scales are given, else floats of one type.
void check_states(const char* name, const std::vector<Tensor>& list, const std::vector<Tensor>& scales,
                  std::span<const Tensor> params) {
  if (scales.empty()) return check_list(name, list, params, true);
  if (list.size() != params.size() || scales.size() != params.size())
    fail(ErrorCode::invalid_argument, fmt::format("tern::optim: {} {} and {} scales for {} parameters", list.size(),
                                                  name, scales.size(), params.size()));
  std::vector<Tensor> floats, of_floats;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Tensor &t = list[i], &scale = scales[i];
    if (!TensorMemory::is_on_host(t) || !TensorMemory::is_on_host(scale)) refuse(name, i, kOnDevice);
    if (t.dtype() != DType::u8) {
      floats.push_back(t);
      of_floats.push_back(params[i]);
      continue;
    }
    if (t.sizes() != params[i].sizes() || !t.is_contiguous() || t.read_only())
      refuse(name, i, "needs its parameter's sizes and contiguous, writable memory");
    if (params[i].dtype() == DType::f64 || !has_coded_states(params[i].numel()))
      refuse(name, i, "has 8 bits, which its parameter does not support");
    if (scale.dtype() != DType::f32 || scale.numel() != t.numel() / kStateBlock || !scale.is_contiguous() ||
        scale.read_only())
      refuse(name, i, "needs a float32 scale for each 256 elements, in contiguous, writable memory");
  }
  check_list(fmt::format("{} without 8 bits", name).c_str(), floats, of_floats, true);
}

/// Requires codes for all states of a parameter, or floats for all: one loop handles a parameter.
void check_alike(const std::vector<Tensor>& list, const std::vector<Tensor>& other) {
  for (std::size_t i = 0; i < std::min(list.size(), other.size()); ++i) {
    if ((list[i].dtype() == DType::u8) != (other[i].dtype() == DType::u8))
      refuse("parameter", i, "has both a state of 8 bits and a state of floats");
  }
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

using TensorLists = std::array<std::span<const Tensor>, kOptimLists>;

constexpr std::size_t list_index(OptimList list) {
  return static_cast<std::size_t>(list);
}

TensorLists lists_of(std::span<const Tensor> params, std::span<const Tensor> grads, const States& states) {
  TensorLists all;
  all[list_index(OptimList::param)] = params;
  all[list_index(OptimList::grad)] = grads;
  all[list_index(OptimList::m)] = states.first;
  all[list_index(OptimList::v)] = states.second;
  all[list_index(OptimList::third)] = states.third;
  all[list_index(OptimList::master)] = states.masters;
  all[list_index(OptimList::m_scale)] = states.first_scales;
  all[list_index(OptimList::v_scale)] = states.second_scales;
  all[list_index(OptimList::third_scale)] = states.third_scales;
  return all;
}

/// True if parameter `i` has 8-bit states.
bool has_codes(const TensorLists& all, std::size_t i) {
  return std::ranges::any_of(kOptimCoded, [&](OptimList list) {
    return i < all[list_index(list)].size() && all[list_index(list)][i].dtype() == DType::u8;
  });
}
bool has_codes(const TensorLists& all) {
  return std::ranges::any_of(kOptimCoded, [&](OptimList list) { return !all[list_index(scales_of(list))].empty(); });
}

/// The parameters with (or without) codes.
struct Chosen {
  std::array<std::vector<Tensor>, kOptimLists> tensors;
  operator TensorLists() const {
    TensorLists all;
    std::ranges::copy(tensors, all.begin());
    return all;
  }
};
Chosen choose(const TensorLists& all, bool coded) {
  Chosen chosen;
  for (std::size_t i = 0; i < all[0].size(); ++i) {
    if (has_codes(all, i) != coded) continue;
    for (std::size_t k = 0; k < kOptimLists; ++k) {
      if (!all[k].empty() && (coded || !is_scales(static_cast<OptimList>(k)))) chosen.tensors[k].push_back(all[k][i]);
    }
  }
  return chosen;
}

/// Runs one loop over uniform lists.
void run(cpu::OptimJob job, Lists& lists, const TensorLists& tensors) {
  for (std::size_t i = 0; i < kOptimLists; ++i) {
    lists.tensors_of[i] = tensors[i];
    if (!tensors[i].empty()) job.dtypes[i] = tensors[i][0].dtype();
  }
  job.list = &lists;
  for (OptimList list : {OptimList::step, OptimList::product, OptimList::lr}) job.dtypes[list_index(list)] = DType::f64;
  if (lists.scaled) job.dtypes[list_index(OptimList::grad_scale)] = DType::f64;
  std::vector<std::int64_t> ends;
  std::int64_t end = 0;
  for (const Tensor& p : tensors[list_index(OptimList::param)]) ends.push_back(end += p.numel());
  job.element_ends = ends;
  cpu::run_optim(job);
}

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
  if (precision > Precision16::masters) fail(ErrorCode::invalid_argument, "tern::optim: unknown precision");
  check_list("parameter", params, params, false);
  const StateTensorSet k = state_tensors(options);
  States s;
  const auto fill = [&](std::vector<Tensor>& list, std::vector<Tensor>& scales, bool there, double value) {
    for (std::size_t i = 0; there && i < params.size(); ++i) {
      const DType p = params[i].dtype();
      const bool coded = is_coded(options, params[i]);
      if (options.eight_bits) scales.emplace_back(DType::f32, std::vector{coded ? params[i].numel() / kStateBlock : 0});
      if (coded) {
        list.emplace_back(DType::u8, params[i].sizes());
        continue;
      }
      Tensor t(precision != Precision16::parameters && element_size(p) == 2 ? DType::f32 : p, params[i].sizes());
      if (value != 0) {
        const std::vector<double> values(static_cast<std::size_t>(t.numel()), value);
        convert(values.data(), DType::f64, t.data(), t.dtype(), t.numel());
      }
      list.push_back(std::move(t));
    }
  };
  fill(s.first, s.first_scales, k.first, 0);
  fill(s.second, s.second_scales, k.second,
       options.kind == Kind::adagrad ? options.initial_sum
       : options.kind == Kind::rprop ? options.lr
                                     : 0);
  fill(s.third, s.third_scales, k.third, 0);
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
  const StateTensorSet k = state_tensors(options);
  const auto check_there = [&](const char* name, const std::vector<Tensor>& list, const std::vector<Tensor>& scales,
                               bool there) {
    if (there || !list.empty() || !scales.empty())
      check_states(name, list, scales, there ? params : std::span<const Tensor>());
  };
  check_there("first state", states.first, states.first_scales, k.first);
  check_there("second state", states.second, states.second_scales, k.second);
  check_there("third state", states.third, states.third_scales, k.third);
  check_alike(states.first, states.second);
  check_alike(states.second, states.third);
  check_alike(states.first, states.third);
  if (!states.masters.empty()) check_list("master weight", states.masters, params, true);
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
  lists.step = static_cast<double>(states.steps + 1);
  lists.product = states.mu_product;
  lists.lr = settings.lr < 0 ? options.lr : settings.lr;
  lists.scale = settings.grad_scale;
  lists.scaled = settings.grad_scale != 1;
  const ThreadScope scope(Threads::chosen(settings.threads));
  const auto all = lists_of(params, grads, states);
  if (!has_codes(all)) {
    run(job, lists, all);
  } else {
    for (const bool coded : {true, false}) {
      const Chosen some = choose(all, coded);
      run(job, lists, some);
    }
  }
  states.mu_product = cpu::optim_settings(o, {lists.step, lists.product, lists.lr}).product;
  ++states.steps;
}

}  // namespace tern::optim
