// Optimizer steps, as PyTorch's fused kernels compute them (kernels/cpu/optim.cpp); and collectives of a process on its
// own.
#include <tern/error.h>

#include <array>

#include "kernels/portable/movement.h"
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
constexpr Part kParts[] = {{kParam, "param", "HAS_PARAM", "PARAM"},
                           {kGrad, "grad", "HAS_GRAD", "GRAD"},
                           {kM, "m", "HAS_M", "M"},
                           {kV, "v", "HAS_V", "V"},
                           {kVmax, "vmax", "HAS_VMAX", "VMAX"}};
// Operands of one number.
constexpr Part kScalars[] = {{kStep, "steps", "HAS_STEP", "LOAD_STEP"},
                             {kLr, "lr", "HAS_LR", "LOAD_LR"},
                             {kScale, "scale", "HAS_SCALE", "LOAD_SCALE"},
                             {kInf, "inf", "HAS_INF", "LOAD_INF"}};

void optim(const KernelCall& c, Launches& list) {
  const Node& node = *c.node;
  const std::vector<double>& h = node.numbers(AttrKey::hyper);
  const TensorView& param = c.in[kParam];
  const DType t = compute_type(param.dtype), scalar = list.target().has_double ? DType::f64 : DType::f32;
  const std::int64_t mode = node.integer(AttrKey::mode, 0);
  Launch k("optim");
  k.type("T", t);
  k.type("SCALAR_T", scalar);
  k.source.math("SCALAR_MATH", scalar);
  k.load("LOAD", param.dtype, t);
  k.store("STORE", t, param.dtype);
  k.source.define("KIND", node.integer(AttrKey::kind));
  k.source.define("NESTEROV", mode & 1);
  k.source.define("FIRST", mode >> 1 & 1);
  k.source.define("MAXIMIZE", node.integer(AttrKey::maximize, 0) != 0 ? 1 : 0);
  std::size_t output = 0;
  for (const Part& part : kParts) {
    const bool given = c.has(part.operand);
    k.source.define(part.has, given ? 1 : 0);
    if (given) {
      k.input(part.name, part.operand, param.dtype);
      k.source.view(part.name, c.in[part.operand]);
    }
    const bool results = part.operand == kGrad ? c.has(kScale) : given;
    const bool wanted = results && c.wants(output);
    k.source.define(std::string("OUT_") + part.out, wanted ? 1 : 0);
    if (wanted) k.output(std::string("out_") + part.name, output, param.dtype);
    output += results ? 1 : 0;
  }
  for (const Part& part : kScalars) {
    k.source.define(part.has, c.has(part.operand) ? 1 : 0);
    if (!c.has(part.operand)) continue;
    k.input(part.name, part.operand, c.in[part.operand].dtype);
    k.load(part.out, c.in[part.operand].dtype, scalar);
  }
  const std::array<const char*, 5> names{"lr", "a", "b", "weight_decay", "eps"};
  for (std::size_t i = 0; i < names.size(); ++i) k.source.parameter(names[i], scalar, h.at(i));
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

void collective(const KernelCall& c, Launches& list) {
  if (c.node->integer(AttrKey::groups, 0) > 1)
    fail(ErrorCode::unsupported, "communication between processes needs a device that provides it");
  if (c.wants(0)) add_start(c, list);
}

}  // namespace

void register_optim(KernelTable& t) {
  Kernel k = kernel<optim>();
  k.in_place_of = updated_input;
  t.set(Op::optim, k);
  k = kernel<collective>();
  k.run = run_over_input;
  k.in_place = 0;
  t.set(Op::collective, k);
}

}  // namespace tern::portable
