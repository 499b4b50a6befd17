// Optimizer steps.
#include <array>

#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "schema/kinds.h"
#include "schema/pointwise.h"

namespace tern::portable {
namespace {

enum : std::size_t { kParam, kGrad, kM, kV, kVmax, kStep, kLr, kScale, kInf };

// What a place of the parameter has: the name in the text, and of the result there.
struct Part {
  std::size_t operand;
  const char *name, *has, *out;
};
constexpr Part kParts[] = {{kParam, "param", "HAS_PARAM", "OUT_PARAM"},
                           {kGrad, "grad", "HAS_GRAD", "OUT_GRAD"},
                           {kM, "m", "HAS_M", "OUT_M"},
                           {kV, "v", "HAS_V", "OUT_V"},
                           {kVmax, "vmax", "HAS_VMAX", "OUT_VMAX"}};
// Operands of one number.
constexpr Part kScalars[] = {{kStep, "steps", "HAS_STEP", "LOAD_STEP"},
                             {kLr, "lr", "HAS_LR", "LOAD_LR"},
                             {kScale, "scale", "HAS_SCALE", "LOAD_SCALE"},
                             {kInf, "inf", "HAS_INF", "LOAD_INF"}};
constexpr std::array kHyper{"lr", "a", "b", "weight_decay", "eps"};
constexpr std::uint64_t kSettings = 5;  // numbers that text/optim_settings.inc makes

void declare_hyper(const KernelCall& c, Launch& k, DType scalar) {
  const std::vector<double>& h = c.node->numbers(AttrKey::hyper);
  for (std::size_t i = 0; i < kHyper.size(); ++i) k.source.parameter(kHyper[i], scalar, h.at(i));
}

void add_settings(const KernelCall& c, Launches& list, DType scalar, std::uint64_t settings) {
  Launch k("optim_settings");
  k.type("SCALAR_T", scalar);
  k.source.math("SCALAR_MATH", scalar);
  k.source.choice("KIND", c.node->integer(AttrKey::kind));
  for (const Part& part : kScalars) {
    const bool given = c.has(part.operand);
    const DType t = given ? c.in[part.operand].dtype : scalar;
    k.optional_input(part.has, part.name, part.operand, t, given);
    k.load(part.out, t, scalar);
  }
  k.scratch("settings", settings, scalar, true);
  declare_hyper(c, k, scalar);
  list.add(std::move(k), 1);
}

void optim(const KernelCall& c, Launches& list) {
  const Node& node = *c.node;
  const TensorView& param = c.in[kParam];
  const DType t = compute_type(param.dtype), scalar = list.target().has_double ? DType::f64 : DType::f32;
  const std::uint64_t settings = list.scratch(kSettings * static_cast<std::uint64_t>(element_size(scalar)));
  add_settings(c, list, scalar, settings);
  const auto kind = static_cast<OptimKind>(node.integer(AttrKey::kind));
  const std::int64_t mode = node.integer(AttrKey::mode);
  Launch k("optim");
  k.type("T", t);
  k.load("LOAD", param.dtype, t);
  k.store("STORE", t, param.dtype);
  k.source.define("KIND", static_cast<std::int64_t>(kind == OptimKind::adamw ? OptimKind::adam : kind));
  k.source.choice("DECOUPLED", kind == OptimKind::adamw ? 1 : 0);
  k.source.choice("NESTEROV", mode & 1);
  k.source.choice("FIRST", mode >> 1 & 1);
  k.source.choice("MAXIMIZE", node.integer(AttrKey::maximize) != 0 ? 1 : 0);
  k.source.choice("SCALED", c.has(kScale) ? 1 : 0);
  std::size_t output = 0;
  for (const Part& part : kParts) {
    const bool given = c.has(part.operand);
    k.optional_input(part.has, part.name, part.operand, param.dtype, given);
    k.source.view(part.name, given ? c.in[part.operand] : param);
    const bool results = part.operand == kGrad ? c.has(kScale) : given;
    k.optional_output(part.out, std::string("out_") + part.name, output, param.dtype, results && c.wants(output));
    output += results ? 1 : 0;
  }
  k.scratch("settings", settings, scalar, false);
  declare_hyper(c, k, scalar);
  k.parameter("count", param.numel());
  list.add(std::move(k), param.numel());
}

/// Each result takes the place of what it updates.
int updated_input(const Node& node, std::size_t output) {
  const auto has = [&](std::size_t i) { return i < node.inputs.size() && node.inputs[i] != kNoValue; };
  std::size_t k = 0;
  for (std::size_t i = kParam; i <= kVmax; ++i) {
    const bool given = i == kParam || (i == kGrad ? has(kScale) : has(i));
    if (given && k++ == output) return static_cast<int>(i);
  }
  return -1;
}

constexpr std::string_view kSamples[] = {
    "T=f32|f64: T[4], T[4], T[4], -, -, -, -, -, -; kind=sgd, hyper=[0.1,0,0,0,1e-8]",
    "T=f32|f64: T[4], T[4], T[4], T[4], -, f64[], -, -, -; kind=adam, hyper=[0.1,0.9,0.99,0,1e-8]",
    "T=f32|f64: T[4], T[4], -, T[4], -, f64[], -, -, -; kind=adagrad, hyper=[0.1,0,0,0,1e-8]",
};

/// Settings, single numbers, are doubles.
DType input_type(const KernelCall& c, std::size_t k) {
  constexpr std::size_t kFirstSetting = 5;
  return k < kFirstSetting ? seen(c.in[k].dtype, Sight::computed) : DType::f64;
}

}  // namespace

void define_optim(Definitions& d) {
  Kernel k = kernel<optim>();
  k.in_place_of = updated_input;
  d.set(Op::optim, k, {.samples = kSamples, .input = input_type});
}

}  // namespace tern::portable
