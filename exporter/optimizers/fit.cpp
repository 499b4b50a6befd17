#include "exporter/optimizers/fit.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <tern/tern.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <span>

#include "exporter/builder.h"
#include "exporter/constants.h"
#include "exporter/optimizers/list_step.h"

namespace tern::optimizers {
namespace {

constexpr double kLarge = 1e30;   // large enough to hide epsilons
constexpr double kTiny = 1e-170;  // underflows when squared
constexpr double kRate = 0.37;    // rate of cones reading their rate, during the search for options
// Steps of the comparison, and rates of cones reading theirs. Rate 0 excludes kExtremes: PyTorch's own forms divide by
// the rate if v is 0.
constexpr double kSteps[] = {0, 1, 7, 1000, 1e4, 1e5, 1e6};
constexpr double kRates[] = {kRate, 0, 1e-3, 2};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kExtremes[] = {
    0, 1e-30, 1e-12, 1e-6, 1e-3, 10, 100, 1e3, 1e6, kInfinity, std::numeric_limits<double>::quiet_NaN()};

/// A cone by the names of a kind's states.
class Probe {
 public:
  Probe(const ConeProgram& cone, std::array<int, 3> positions, std::size_t count)
      : cone_(cone), state_indices_(positions), count_(count) {}

  struct SymbolicStep {
    double p = 0, g = 0, m = 0, v = 0, third = 0, step = 0, product = 0;
  };
  /// The state after a step.
  SymbolicStep operator()(const SymbolicStep& numbers) const {
    ConeValues n{numbers.p, numbers.g, numbers.step, kRate, std::vector<double>(count_), numbers.product};
    const double values[] = {numbers.m, numbers.v, numbers.third};
    for (std::size_t i = 0; i < 3; ++i) {
      if (state_indices_[i] >= 0) n.states[static_cast<std::size_t>(state_indices_[i])] = values[i];
    }
    const ConeValues new_element = cone_.run({n}).at(0);
    const auto state = [&](std::size_t i) {
      return state_indices_[i] < 0 ? 0 : new_element.states[static_cast<std::size_t>(state_indices_[i])];
    };
    return {new_element.p, 0, state(0), state(1), state(2), new_element.step, new_element.product};
  }

 private:
  const ConeProgram& cone_;
  std::array<int, 3> state_indices_;
  std::size_t count_;
};

// Each function solves a kind's update rule for the options, at numbers chosen to cancel all others. Other rules give
// numbers rejected by the comparison. `third` and `m` tell the existing states.
using Hyper = std::vector<double>;

Hyper sgd(const Probe& f, bool m, bool nesterov, bool decoupled) {
  if (!m) {
    const double lr = -f({.g = 1}).p;
    return {lr, 0, 0, (1 - f({.p = 1}).p) / lr, 0};
  }
  const double momentum = f({.m = 1}).m, gradient_share = f({.g = 1}).m;
  const double lr = -f({.g = 1}).p / (nesterov ? 1 + momentum * gradient_share : gradient_share);
  const double decay = decoupled ? (1 - f({.p = 1}).p) / lr : f({.p = 1}).m / gradient_share;
  return {lr, momentum, 1 - gradient_share, decay, 0};
}

Hyper adam(const Probe& f, bool decoupled) {
  const double b1 = f({.m = 1}).m, b2 = f({.v = 1}).v;
  const double size = b1 / (1 - b1);  // corrected moment after the first step
  const double lr = -f({.m = 1, .v = kLarge}).p / size * std::sqrt(b2 * kLarge / (1 - b2));
  const double eps = -lr * size / f({.m = 1}).p;
  const double decay = decoupled ? (1 - f({.p = 1}).p) / lr : f({.p = 1}).m / (1 - b1);
  return {lr, b1, b2, decay, eps};
}

Hyper adagrad(const Probe& f) {
  const double lr = -f({.g = 1, .v = kLarge}).p * std::sqrt(kLarge);
  const double later_rate = -f({.g = 1, .v = kLarge, .step = 1}).p * std::sqrt(kLarge);
  return {lr, lr / later_rate - 1, 0, std::sqrt(f({.p = 1}).v), -lr * kTiny / f({.g = kTiny}).p};
}

Hyper rmsprop(const Probe& f, bool m) {
  const double alpha = f({.v = 1}).v, decay = std::sqrt(f({.p = 1}).v / (1 - alpha));
  if (!m) {
    const double lr = -f({.g = 1, .v = kLarge}).p * std::sqrt(alpha * kLarge);
    return {lr, alpha, 0, decay, -lr * kTiny / f({.g = kTiny}).p};
  }
  const double momentum = f({.m = 1}).m;
  return {-f({.m = 1}).p / momentum, alpha, momentum, decay, kTiny / f({.g = kTiny}).m};
}

Hyper adadelta(const Probe& f) {
  const double rho = f({.v = 1}).v, lr = -f({.g = 1, .m = kLarge, .v = kLarge}).p * std::sqrt(rho);
  const double update = -f({.g = 1, .v = kLarge}).p / lr;
  return {lr, rho, 0, std::sqrt(f({.p = 1}).v / (1 - rho)), update * update * rho * kLarge};
}

Hyper adamax(const Probe& f) {
  const double b1 = f({.m = 1}).m, b2 = f({.v = 1}).v, lr = -f({.m = 1, .v = 1}).p * b2 * (1 - b1) / b1;
  return {lr, b1, b2, f({.p = 1}).m / (1 - b1), f({}).v};
}

/// A zero product of the momenta makes the corrections 1.
Hyper nadam(const Probe& f, bool decoupled) {
  const double b1 = f({.m = 1}).m, b2 = f({.v = 1}).v;
  const double power = 2 * (1 - f({.product = 1}).product / b1);  // 0.96 to the power of the momentum's decay
  const double momentum_decay = std::log(power) / std::log(0.96), next = b1 * (1 - 0.5 * power * power);
  const double lr = -f({.m = 1, .v = kLarge}).p / (next * b1) * std::sqrt(b2 * kLarge / (1 - b2));
  const double eps = -lr * next * b1 / f({.m = 1}).p;
  const double decay = decoupled ? (1 - f({.p = 1}).p) / lr : f({.p = 1}).m / (1 - b1);
  return {lr, b1, b2, decay, eps, momentum_decay};
}

Hyper rprop(const Probe& f) {
  const double lower = f({.v = kTiny}).v, upper = f({.v = kLarge}).v;
  const double clipped_square = upper / 4;
  return {0,
          f({.g = -1, .m = 1, .v = clipped_square}).v / clipped_square,
          f({.g = 1, .m = 1, .v = clipped_square}).v / clipped_square,
          0,
          lower,
          upper};
}

/// The sign of moment plus gradient flips at a gradient equal to the moment's share.
Hyper lion(const Probe& f) {
  const double lr = -f({.g = 1}).p, b2 = f({.m = 1}).m;
  double low = 0, high = 1;  // beta1
  for (int i = 0; i < 64; ++i) {
    const double middle = (low + high) / 2;
    const bool follows_moment = f({.g = -middle / (1 - middle), .m = 1}).p < 0;
    (follows_moment ? low : high) = middle;
  }
  return {lr, (low + high) / 2, b2, (1 - f({.p = 1}).p) / lr, 0};
}

/// Bends and jumps of an update rule.
struct Bends {
  int maxima = 0, minima = 0, magnitudes = 0, signs = 0, comparisons = 0, choices = 0;
};

/// Optimizer kind with its states, and the solver for its options.
struct Hypothesis {
  OptimKind kind;
  bool m, v, third;
  std::int64_t mode;
  Hyper (*solve)(const Probe&);
  bool product = false;
  Bends bends = {};
};
constexpr Bends kLargest{.maxima = 1}, kLargestMagnitude{.maxima = 1, .magnitudes = 1}, kSign{.signs = 1};
// Step sizes grow, shrink or stay by the sign of a product; only the gradient's sign counts.
constexpr Bends kRprop{.maxima = 1, .minima = 1, .signs = 2, .comparisons = 4, .choices = 4};
constexpr Hypothesis kHypotheses[] = {
    {OptimKind::sgd, false, false, false, 0, [](const Probe& f) { return sgd(f, false, false, false); }},
    {OptimKind::sgd, true, false, false, 0, [](const Probe& f) { return sgd(f, true, false, false); }},
    {OptimKind::sgd, true, false, false, kOptimNesterov, [](const Probe& f) { return sgd(f, true, true, false); }},
    {OptimKind::adagrad, false, true, false, 0, adagrad},
    {OptimKind::rmsprop, false, true, false, 0, [](const Probe& f) { return rmsprop(f, false); }},
    {OptimKind::adam, true, true, false, 0, [](const Probe& f) { return adam(f, false); }},
    {OptimKind::adamw, true, true, false, 0, [](const Probe& f) { return adam(f, true); }},
    {OptimKind::rmsprop, true, true, false, 0, [](const Probe& f) { return rmsprop(f, true); }},
    {OptimKind::rmsprop, false, true, true, 0, [](const Probe& f) { return rmsprop(f, false); }},
    {OptimKind::adadelta, true, true, false, 0, adadelta},
    {OptimKind::adamax, true, true, false, 0, adamax, false, kLargestMagnitude},
    {OptimKind::adam, true, true, true, 0, [](const Probe& f) { return adam(f, false); }, false, kLargest},
    {OptimKind::adamw, true, true, true, 0, [](const Probe& f) { return adam(f, true); }, false, kLargest},
    {OptimKind::rmsprop, true, true, true, 0, [](const Probe& f) { return rmsprop(f, true); }},
    {OptimKind::nadam, true, true, false, 0, [](const Probe& f) { return nadam(f, false); }, true},
    {OptimKind::nadam, true, true, false, kOptimDecoupled, [](const Probe& f) { return nadam(f, true); }, true},
    {OptimKind::rprop, true, true, false, 0, rprop, false, kRprop},
    {OptimKind::lion, true, false, false, 0, lion, false, kSign},
};

/// Runs the op itself on the same numbers.
std::vector<ConeValues> run_op(const Fit& fit, const Cone& cone, DType type, const std::vector<ConeValues>& elements) {
  auto step_program = std::make_shared<Program>();
  step_program->source = std::make_shared<ExtendableSource>(nullptr, 0);
  step_program->functions.emplace_back();
  step_program->functions[0].name = "step";
  step_program->functions[0].entry = true;
  Builder b(*step_program, 0);
  std::vector<Tensor> inputs;
  const auto input = [&](bool number, auto&& value) {
    const std::size_t count = number ? 1 : elements.size();
    const auto size = static_cast<std::int64_t>(count);
    const DType t = number ? DType::f64 : type;
    const ValueId v = b.add_value({t, number ? Dims() : Dims{Dim(size)}});
    b.function().inputs.push_back({FunctionInput::Kind::user, v, 0, "x" + std::to_string(inputs.size()), {}});
    Tensor tensor(t, number ? std::vector<std::int64_t>() : std::vector<std::int64_t>{size});
    for (std::size_t i = 0; i < count; ++i) {
      if (t == DType::f64) tensor.span<double>()[i] = value(elements[i]);
      if (t == DType::f32) tensor.span<float>()[i] = static_cast<float>(value(elements[i]));
    }
    inputs.push_back(std::move(tensor));
    return v;
  };
  ListStep step{.kind = fit.kind, .hyper = fit.hyper, .mode = fit.mode | kOptimAdvance, .lists = {}};
  step[OptimList::param] = {input(false, [](const ConeValues& n) { return n.p; })};
  step[OptimList::grad] = {input(false, [](const ConeValues& n) { return n.g; })};
  constexpr OptimList kStates[] = {OptimList::m, OptimList::v, OptimList::third};
  for (std::size_t i = 0; i < 3; ++i) {
    const int state_index = fit.states[i];
    if (state_index >= 0)
      step[kStates[i]] = {
          input(false, [state_index](const ConeValues& n) { return n.states[static_cast<std::size_t>(state_index)]; })};
  }
  step[OptimList::step] = {input(true, [](const ConeValues& n) { return n.step; })};
  if (cone.product.old_value != kNoValue)
    step[OptimList::product] = {input(true, [](const ConeValues& n) { return n.product; })};
  if (cone.lr != kNoValue) step[OptimList::lr] = {input(true, [](const ConeValues& n) { return n.lr; })};
  const ListResults results = add_list_step(b, step);
  std::vector<std::size_t> positions;  // index in ConeValues::states for each output, except the parameter
  for (std::size_t i = 0; i < kOptimLists; ++i) {
    for (ValueId v : results[i]) b.function().outputs.push_back({FunctionOutput::Kind::tensor, v, "y"});
  }
  PrepareOptions options;
  options.reproducible = true;
  Session session(Model(std::move(step_program)).prepare(options));
  const std::vector<Tensor>& outputs = session.run(inputs);
  std::vector<ConeValues> new_elements(elements.size());
  const auto output_at = [&](std::size_t k, std::size_t i) {
    return outputs[k].dtype() == DType::f64 ? outputs[k].span<const double>()[i]
                                            : static_cast<double>(outputs[k].span<const float>()[i]);
  };
  for (std::size_t i = 0; i < new_elements.size(); ++i) {
    new_elements[i].states.resize(elements[i].states.size());
    std::size_t k = 0;
    new_elements[i].p = output_at(k++, i);
    for (int state_index : fit.states) {
      if (state_index >= 0) new_elements[i].states[static_cast<std::size_t>(state_index)] = output_at(k++, i);
    }
    new_elements[i].step = output_at(k++, 0);
    if (cone.product.old_value != kNoValue) new_elements[i].product = output_at(k, 0);
  }
  return new_elements;
}

/// Numbers typical of training; second moments are not negative.
std::vector<ConeValues> samples(const Fit& fit, std::size_t states, double step, double rate) {
  std::mt19937_64 engine(static_cast<std::uint64_t>(step) + 1);
  std::normal_distribution<double> normal;
  std::vector<ConeValues> elements(48);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    ConeValues& n = elements[i];
    const double scale = std::pow(10.0, -static_cast<double>(i % 5));
    n = {normal(engine), normal(engine) * scale, step, rate, std::vector<double>(states), step > 0 ? 0.3 : 1};
    for (double& s : n.states) s = normal(engine) * scale * 0.1;
    for (std::size_t k : {std::size_t{1}, std::size_t{2}}) {
      const bool square = k == 1 || fit.kind != OptimKind::rmsprop;
      if (fit.states[k] >= 0 && square) {
        double& s = n.states[static_cast<std::size_t>(fit.states[k])];
        s = s * s + (fit.kind == OptimKind::rmsprop ? scale * scale : 0);
      }
    }
    if (fit.kind == OptimKind::rprop) {  // step sizes between and near the bounds
      double& s = n.states[static_cast<std::size_t>(fit.states[1])];
      const double lower = fit.hyper[4], upper = fit.hyper[5];
      s = std::clamp(i % 6 == 0 ? upper : i % 6 == 1 ? lower : std::sqrt(s), lower, upper);
    }
    if (fit.kind == OptimKind::adadelta) {
      double& s = n.states[static_cast<std::size_t>(fit.states[0])];
      s *= s;
    }
  }
  return elements;
}

/// Appends samples with one number replaced by each of kExtremes: limits and tests of infinity act on these alone.
/// States without negative samples get no negative extremes.
void add_extremes(std::vector<ConeValues>& elements) {
  const std::vector<ConeValues> typical = elements;
  const auto add = [&](auto&& position) {
    const bool negative = std::ranges::any_of(typical, [&](ConeValues n) { return position(n) < 0; });
    for (std::size_t i = 0; i < std::size(kExtremes); ++i) {
      for (const double sign : {1.0, -1.0}) {
        if (sign < 0 && !negative) continue;
        elements.push_back(typical[i]);
        position(elements.back()) = sign * kExtremes[i];
      }
    }
  };
  add([](ConeValues& n) -> double& { return n.p; });
  add([](ConeValues& n) -> double& { return n.g; });
  for (std::size_t k = 0; k < typical[0].states.size(); ++k) add([k](ConeValues& n) -> double& { return n.states[k]; });
  elements.push_back({0, 0, typical[0].step, typical[0].lr, std::vector<double>(typical[0].states.size())});
}

/// Permitted rounding difference: `unit` times the larger of a number and its previous value, plus `lost` times the
/// change, for step powers computed in the cone's own type.
struct FitTolerance {
  double unit, lost;

  /// Infinities and NaN count as equal: reordered sums end in either, and only finite parameters matter.
  bool close(double a, double b, double start_value) const {
    if (!std::isfinite(a) || !std::isfinite(b)) return !std::isfinite(a) && !std::isfinite(b);
    const double start = std::isfinite(start_value) ? start_value : 0;
    return std::fabs(a - b) <= unit * std::max(std::fabs(a), std::fabs(start)) + lost * std::fabs(a - start);
  }
};

bool agrees_on(const std::vector<ConeValues>& old_elements, const Fit& fit, const Cone& cone,
               const ConeProgram& program, DType type, FitTolerance tolerance) {
  const std::vector<ConeValues> theirs = program.run(old_elements), ours = run_op(fit, cone, type, old_elements);
  for (std::size_t i = 0; i < old_elements.size(); ++i) {
    if (!tolerance.close(theirs[i].p, ours[i].p, old_elements[i].p)) return false;
    for (std::size_t k = 0; k < cone.states.size(); ++k) {
      if (!tolerance.close(theirs[i].states[k], ours[i].states[k], old_elements[i].states[k])) return false;
    }
    if (cone.step.old_value != kNoValue && theirs[i].step != old_elements[i].step + 1) return false;
    if (cone.product.old_value != kNoValue &&
        !tolerance.close(theirs[i].product, ours[i].product, old_elements[i].product))
      return false;
  }
  return true;
}

/// True if the op gives the cone's numbers. Extremes apply to doubles: squares of 1e-30 are not float32.
bool agrees(const Fit& fit, const Cone& cone, const ConeProgram& program, DType type, FitTolerance tolerance) {
  for (double rate : kRates) {
    if (cone.lr == kNoValue && rate != kRate) break;
    for (double step : kSteps) {
      if (cone.step.old_value == kNoValue && step > 0) break;
      std::vector<ConeValues> old_elements = samples(fit, cone.states.size(), step, rate);
      if (type == DType::f64 && rate > 0) add_extremes(old_elements);
      if (!agrees_on(old_elements, fit, cone, program, type, tolerance)) return false;
    }
  }
  return true;
}

/// Smooth functions: agreement on many numbers implies agreement on all.
bool is_smooth(const Instruction& instruction) {
  constexpr Scalar kSmooth[] = {Scalar::load, Scalar::constant, Scalar::add,  Scalar::sub,   Scalar::mul,
                                Scalar::div,  Scalar::fma,      Scalar::neg,  Scalar::pow,   Scalar::sqrt,
                                Scalar::exp,  Scalar::rsqrt,    Scalar::exp2, Scalar::expm1, Scalar::reciprocal,
                                Scalar::log,  Scalar::log2,     Scalar::log1p};
  if (instruction.op == Scalar::convert) return instruction.dtype == DType::f32 || instruction.dtype == DType::f64;
  return std::ranges::find(kSmooth, instruction.op) != std::end(kSmooth);
}

/// Per instruction: true if computed from constants alone.
std::vector<bool> fixed(const std::vector<Instruction>& code) {
  std::vector<bool> has_property(code.size());
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::uint16_t operands[] = {code[i].a, code[i].b, code[i].c};
    const auto count = static_cast<std::size_t>(scalar_info(code[i].op).operands);
    has_property[i] = code[i].op == Scalar::constant ||
                      (count > 0 && std::ranges::all_of(std::span(operands).first(count),
                                                        [&](std::uint16_t k) { return has_property[k]; }));
  }
  return has_property;
}

bool is_comparison(Scalar op) {
  return op == Scalar::lt || op == Scalar::le || op == Scalar::gt || op == Scalar::ge || op == Scalar::eq ||
         op == Scalar::ne;
}

/// True if limits and comparisons involve 0 and the options alone, values surrounded by samples.
bool bends_at_options(const Function& f, const Cone& cone, const std::vector<double>& options) {
  for (std::uint32_t node : cone.nodes) {
    const std::vector<Instruction>& code = f.nodes[node].expr.code;
    const std::vector<bool> constant = fixed(code);
    for (std::size_t i = 0; i < code.size(); ++i) {
      const Instruction& instruction = code[i];
      if (constant[i] ||
          !(is_comparison(instruction.op) || instruction.op == Scalar::max || instruction.op == Scalar::min))
        continue;
      const auto known = [&](std::uint16_t k) {
        const auto is_near = [&](double x) { return std::fabs(x - code[k].number) <= 1e-6 * std::fabs(x); };
        return code[k].op == Scalar::constant && is_floating(code[k].dtype) && std::ranges::any_of(options, is_near);
      };
      if (!known(instruction.a) && !known(instruction.b)) return false;
    }
  }
  return true;
}

/// True if the cone has at most the limits, comparisons, choices and roundings of the kind: others may act on unsampled
/// numbers only. Choices by constants, such as PyTorch's lerp by weight, do not count.
bool is_plain(const Function& f, const Cone& cone, const Hypothesis& h) {
  Bends remaining = h.bends;
  for (std::uint32_t node : cone.nodes) {
    const std::vector<Instruction>& code = f.nodes[node].expr.code;
    const std::vector<bool> constant = fixed(code);
    for (std::size_t i = 0; i < code.size(); ++i) {
      const Instruction& instruction = code[i];
      const bool allowed = constant[i]                       ? true
                           : instruction.op == Scalar::where ? constant[instruction.a] || remaining.choices-- > 0
                           : instruction.op == Scalar::max   ? remaining.maxima-- > 0
                           : instruction.op == Scalar::min   ? remaining.minima-- > 0
                           : instruction.op == Scalar::abs   ? remaining.magnitudes-- > 0
                           : instruction.op == Scalar::sign  ? remaining.signs-- > 0
                           : is_comparison(instruction.op)   ? remaining.comparisons-- > 0
                                                             : is_smooth(instruction);
      if (!allowed) return false;
    }
  }
  return true;
}

std::optional<Fit> try_fit(const Function& f, const Hypothesis& h, std::array<int, 3> positions, const Cone& cone,
                           const ConeProgram& wide_program, const ConeProgram& narrow_program, DType type) {
  Fit fit{h.kind, h.solve(Probe(wide_program, positions, cone.states.size())), h.mode, positions};
  for (double& x : fit.hyper) {
    if (!std::isfinite(x)) return std::nullopt;
    x = roundest(x);
  }
  const double lr = fit.hyper[0];
  // Rejects averages of gradients, formally a descent with a negative rate.
  const bool has_rate = h.kind != OptimKind::rprop;
  if ((has_rate && lr <= 0) || std::ranges::any_of(fit.hyper, [](double x) { return x < 0; })) return std::nullopt;
  if (cone.lr != kNoValue && !(has_rate && std::fabs(lr - kRate) <= 1e-9)) return std::nullopt;
  if (h.bends.comparisons > 0 && !bends_at_options(f, cone, fit.hyper)) return std::nullopt;
  if (!agrees(fit, cone, wide_program, DType::f64, {.unit = 1e-12, .lost = 1e-9})) return std::nullopt;
  if (type == DType::f32 && !agrees(fit, cone, narrow_program, type, {.unit = 0x1p-20, .lost = 0x1p-12}))
    return std::nullopt;
  return fit;
}

}  // namespace

double roundest(double x) {
  if (std::fabs(x) < 1e-13) return 0;
  for (int digits = 1; digits < 10; ++digits) {
    const double rounded = std::strtod(fmt::format("{:.{}e}", x, digits - 1).c_str(), nullptr);
    if (std::fabs(rounded - x) <= std::fabs(x) * 1e-10) return rounded;
  }
  return x;
}

std::optional<Fit> fit_cone(const Function& f, const Cone& cone) {
  const DType type = f.values[static_cast<std::size_t>(cone.param.old_value)].type.dtype;
  const auto has_dtype = [&](ValueId v) { return f.values[static_cast<std::size_t>(v)].type.dtype == type; };
  if (!has_dtype(cone.grad) || !std::ranges::all_of(cone.states, [&](const Pair& s) { return has_dtype(s.old_value); }))
    return {};
  const ConeProgram wide_program(f, cone, true), narrow_program(f, cone, false);
  std::vector<int> order;
  for (std::size_t i = 0; i < cone.states.size(); ++i) order.push_back(static_cast<int>(i));
  for (const Hypothesis& h : kHypotheses) {
    if (static_cast<std::size_t>(h.m + h.v + h.third) != order.size() || !is_plain(f, cone, h)) continue;
    if (h.product != (cone.product.old_value != kNoValue)) continue;
    std::ranges::sort(order);
    do {
      std::array<int, 3> positions{-1, -1, -1};
      std::size_t next = 0;
      const bool is_present[] = {h.m, h.v, h.third};
      for (std::size_t i = 0; i < 3; ++i) {
        if (is_present[i]) positions[i] = order[next++];
      }
      try {
        if (auto fit = try_fit(f, h, positions, cone, wide_program, narrow_program, type)) return fit;
      } catch (const Error&) {
        return std::nullopt;  // an expression unfit for doubles
      }
    } while (std::ranges::next_permutation(order).found);
  }
  return std::nullopt;
}

}  // namespace tern::optimizers
