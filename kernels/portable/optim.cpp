// Optimizer steps.
#include "schema/optim.h"

#include <array>
#include <tuple>

#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "schema/pointwise.h"

namespace tern::portable {
namespace {

// What a place of the parameter has: the name in the text, and of the result there.
struct Part {
  OptimList list;
  const char *name, *has, *out;
};
constexpr Part kParts[] = {{OptimList::param, "param", "HAS_PARAM", "OUT_PARAM"},
                           {OptimList::grad, "grad", "HAS_GRAD", "OUT_GRAD"},
                           {OptimList::m, "m", "HAS_M", "OUT_M"},
                           {OptimList::v, "v", "HAS_V", "OUT_V"},
                           {OptimList::third, "vmax", "HAS_VMAX", "OUT_VMAX"},
                           {OptimList::master, "master", "HAS_MASTER", "OUT_MASTER"}};
// Operands of one number.
constexpr Part kScalars[] = {{OptimList::step, "steps", "HAS_STEP", "LOAD_STEP"},
                             {OptimList::lr, "lr", "HAS_LR", "LOAD_LR"},
                             {OptimList::grad_scale, "scale", "HAS_SCALE", "LOAD_SCALE"},
                             {OptimList::found_inf, "inf", "HAS_INF", "LOAD_INF"},
                             {OptimList::product, "product", "HAS_PRODUCT", "LOAD_PRODUCT"}};
constexpr std::array kHyper{"lr", "a", "b", "weight_decay", "eps", "c"};
constexpr std::uint64_t kSettings = 6;  // numbers that text/optim_settings.inc makes

/// A node while it becomes launches.
struct Step {
  const KernelCall& c;
  Launches& list;
  OptimLayout layout{*c.node};
  DType scalar = list.target().has_double ? DType::f64 : DType::f32;

  void declare_hyper(Launch& k) const {
    const std::vector<double>& h = c.node->numbers(AttrKey::hyper);
    for (std::size_t i = 0; i < kHyper.size(); ++i) k.source.parameter(kHyper[i], scalar, i < h.size() ? h[i] : 0);
  }
  std::int64_t mode(std::int64_t bit) const { return (c.node->integer(AttrKey::mode) & bit) != 0 ? 1 : 0; }
};

/// The settings of parameter `i`; step and product advance where that is asked for.
void add_settings(const Step& s, std::size_t i, std::uint64_t settings) {
  Launch k("optim_settings");
  k.type("SCALAR_T", s.scalar);
  k.source.math("SCALAR_MATH", s.scalar);
  k.source.choice("KIND", s.c.node->integer(AttrKey::kind));
  k.source.choice("ADVANCE", s.mode(kOptimAdvance));
  for (const Part& part : kScalars) {
    const bool given = s.layout.has(part.list);
    const std::size_t operand = given ? s.layout.operand(part.list, i) : 0;
    const DType t = given ? s.c.in[operand].dtype : s.scalar;
    k.optional_input(part.has, part.name, operand, t, given);
    k.load(part.out, t, s.scalar);
  }
  for (const auto& [list, out, store, name] :
       {std::tuple{OptimList::step, "OUT_STEP", "STORE_STEP", "out_step"},
        std::tuple{OptimList::product, "OUT_PRODUCT", "STORE_PRODUCT", "out_product"}}) {
    const bool given = s.layout.gives(list);
    const std::size_t result = given ? s.layout.result(list, i) : 0;
    const DType t = given ? s.c.in[s.layout.operand(list, i)].dtype : s.scalar;
    k.optional_output(out, name, result, t, given && s.c.wants(result));
    k.store(store, s.scalar, t);
  }
  k.scratch("settings", settings, s.scalar, true);
  s.declare_hyper(k);
  s.list.add(std::move(k), 1);
}

/// All places of parameter `i`.
void add_places(const Step& s, std::size_t i, std::uint64_t settings) {
  const TensorView& param = s.c.in[s.layout.operand(OptimList::param, i)];
  const auto operand = [&](OptimList list) { return s.c.in[s.layout.operand(list, i)]; };
  const auto dtype = [&](OptimList list) { return s.layout.has(list) ? operand(list).dtype : param.dtype; };
  const OptimList state = s.layout.has(OptimList::m) ? OptimList::m : OptimList::v;
  const DType t = compute_type(param.dtype);
  Launch k("optim");
  k.type("T", t);
  k.load("LOAD", param.dtype, t);
  k.store("STORE", t, param.dtype);
  k.load("LOAD_GRAD", dtype(OptimList::grad), t);
  k.store("STORE_GRAD", t, dtype(OptimList::grad));
  for (const Part& part : {kParts[2], kParts[3], kParts[4]}) {
    const std::string name = std::string(part.name) == "vmax" ? "VMAX" : part.list == OptimList::m ? "M" : "V";
    const DType kept = s.layout.has(part.list) ? dtype(part.list) : dtype(state);
    k.load("LOAD_" + name, kept, t);
    k.store("STORE_" + name, t, kept);
  }
  const auto kind = s.layout.kind;
  k.source.define("KIND", static_cast<std::int64_t>(kind == OptimKind::adamw ? OptimKind::adam : kind));
  k.source.choice("DECOUPLED", kind == OptimKind::adamw ? 1 : s.mode(kOptimDecoupled));
  k.source.choice("NESTEROV", s.mode(kOptimNesterov));
  k.source.choice("FIRST", s.mode(kOptimFirst));
  k.source.choice("MAXIMIZE", s.c.node->integer(AttrKey::maximize) != 0 ? 1 : 0);
  k.source.choice("SCALED", s.layout.has(OptimList::grad_scale) ? 1 : 0);
  for (const Part& part : kParts) {
    const bool given = s.layout.has(part.list);
    const DType kept = part.list == OptimList::master && !given ? t : dtype(part.list);
    k.optional_input(part.has, part.name, given ? s.layout.operand(part.list, i) : 0, kept, given);
    k.source.view(part.name, given ? operand(part.list) : param);
    const std::size_t output = s.layout.gives(part.list) ? s.layout.result(part.list, i) : 0;
    k.optional_output(part.out, std::string("out_") + part.name, output, kept,
                      s.layout.gives(part.list) && s.c.wants(output));
  }
  k.scratch("settings", settings, s.scalar, false);
  s.declare_hyper(k);
  k.parameter("count", param.numel());
  s.list.add(std::move(k), param.numel());
}

/// The settings come once for all parameters that share their step, and before it advances.
void optim(const KernelCall& c, Launches& list) {
  const Step s{c, list};
  const bool shared = s.layout.count(OptimList::step) <= 1;
  const std::size_t rows = shared ? 1 : s.layout.params();
  const std::uint64_t bytes = kSettings * static_cast<std::uint64_t>(element_size(s.scalar));
  std::vector<std::uint64_t> settings;
  for (std::size_t i = 0; i < rows; ++i) settings.push_back(list.scratch(bytes));
  for (std::size_t i = 0; i < rows; ++i) add_settings(s, i, settings[i]);
  for (std::size_t i = 0; i < s.layout.params(); ++i) add_places(s, i, settings[shared ? 0 : i]);
}

int updated_input(const Node& node, std::size_t output) {
  return OptimLayout(node).updated(output);
}

constexpr std::string_view kSamples[] = {
    "T=f32|f64: T[4], T[4], T[4], -, -, -, -, -, -; kind=sgd, hyper=[0.1,0,0,0,1e-8]",
    "T=f32|f64: T[4], T[4], T[4], T[4], -, f64[], -, -, -; kind=adam, hyper=[0.1,0.9,0.99,0,1e-8]",
    "T=f32|f64: T[4], T[4], -, T[4], -, f64[], -, -, -; kind=adagrad, hyper=[0.1,0,0,0,1e-8]",
    "T=f32|f64: T[4], T[4], T[4], T[4], T[4]; kind=rmsprop, hyper=[0.1,0.9,0.9,0,1e-8]",
    "T=f32|f64: T[4], T[4], T[4], T[4]; kind=adadelta, hyper=[0.1,0.9,0,0,1e-6]",
    "T=f32|f64: T[4], T[4], T[4], T[4], -, f64[]; kind=adamax|radam, hyper=[0.1,0.9,0.99,0,1e-8]",
    "T=f32|f64: T[4], T[4], T[4], T[4], -, f64[], -, -, -, -, f64[]; kind=nadam, hyper=[0.1,0.9,0.99,0,1e-8,0.004]",
    "T=f32|f64: T[4], T[4], T[4], -, -, f64[]; kind=asgd, hyper=[0.1,0.1,0.75,0,1000000]",
    "T=f32|f64: T[4], T[4], T[4], T[4]; kind=rprop, hyper=[0,0.5,1.2,0,1e-6,50]",
    "T=f32|f64: T[4], T[4], T[4]; kind=lion, hyper=[0.1,0.9,0.99,0,0]",
};

/// Settings, single numbers, are doubles.
DType texts_type(const KernelCall& c, std::size_t operand) {
  const OptimLayout layout(*c.node);
  return is_large(layout.list_of(operand)) ? seen(c.in[operand].dtype, Sight::computed) : DType::f64;
}
DType input_type(const KernelCall& c, std::size_t k) {
  return texts_type(c, k);
}
DType output_type(const KernelCall& c, std::size_t k) {
  return texts_type(c, static_cast<std::size_t>(OptimLayout(*c.node).updated(k)));
}

}  // namespace

void define_optim(Definitions& d) {
  Kernel k = kernel<optim>();
  k.in_place_of = updated_input;
  d.set(Op::optim, k, {.samples = kSamples, .input = input_type, .output = output_type});
}

}  // namespace tern::portable
