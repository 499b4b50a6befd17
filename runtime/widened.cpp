#include "runtime/widened.h"

#include <map>
#include <optional>

#include "runtime/plan/plans.h"
#include "schema/narrow_weights.h"
#include "schema/op_record.h"

namespace tern {
namespace {

WidenedNode describe(const Program& p, const Function& f, std::uint32_t number, const NarrowWeights& narrow,
                     Widening widening) {
  const Node& n = f.nodes[number];
  WidenedNode w{f.name, number, std::string(op_name(n.op)), {}, {}, widening.bytes, widening.once};
  if (n.origin >= 0) w.module = p.origins[static_cast<std::size_t>(n.origin)].module;
  if (const int i = narrow.operand(n); i >= 0)
    w.weight = p.states[static_cast<std::size_t>(narrow.state(n.inputs[static_cast<std::size_t>(i)]))].name;
  return w;
}

std::uint64_t bytes_of_widened(const TensorView& v) {
  return static_cast<std::uint64_t>(v.numel()) * static_cast<std::uint64_t>(element_size(v.dtype));
}

/// Returns the conversion done by a step; 0 bytes: none.
Widening widening_of(const SectionPlan& plan, const PlanStep& step, const Function& f, const NarrowWeights& narrow) {
  if (step.kind != PlanStep::Kind::kernel || step.resolved == nullptr || step.members > 0) return {};
  const KernelCall call =
      step.call(const_cast<TensorView*>(plan.args.data()) + step.args, plan.constant.get() + step.args);
  if (step.state != nullptr && step.state->widening.bytes > 0) return step.state->widening;
  if (step.kernel != nullptr && step.kernel->widening != nullptr) return step.kernel->widening(call);
  if (narrow.widened(f, f.nodes[step.number]) >= 0 && call.wants_output(0))
    return {bytes_of_widened(call.out[0]), false};
  return {};
}

}  // namespace

std::vector<WidenedNode> widened_by_nodes(const Program& program) {
  std::vector<WidenedNode> found;
  for (const Function& f : program.functions) {
    const NarrowWeights narrow(program, f);
    for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
      const Node& n = f.nodes[i];
      if (narrow.widened(f, n) < 0 || n.outputs[0] == kNoValue) continue;
      const TensorType& type = f.values[static_cast<std::size_t>(n.outputs[0])].type;
      std::uint64_t bytes = 0;
      bool known = true;
      for (const Dim& d : type.shape) known = known && d.is_const();
      if (!known || !byte_size(type, &bytes)) bytes = 0;
      found.push_back(describe(program, f, i, narrow, {bytes, false}));
    }
  }
  return found;
}

std::vector<WidenedNode> widened_by_plans(const PreparedProgram& prepared) {
  const Program& p = *prepared.program;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Widening> found;  // keyed by function and node
  std::vector<std::optional<NarrowWeights>> narrow(p.functions.size());
  const auto weights = [&](std::uint32_t f) -> const NarrowWeights& {
    if (!narrow[f]) narrow[f].emplace(p, p.functions[f]);
    return *narrow[f];
  };
  for (const std::shared_ptr<const SectionPlan>& plan : prepared.plans->cached_plans()) {
    const std::uint32_t f = plan->key.function;
    for (const PlanStep& step : plan->steps) {
      const Widening w = widening_of(*plan, step, p.functions[f], weights(f));
      if (w.bytes == 0) continue;
      Widening& most = found[{f, step.number}];
      if (w.bytes > most.bytes) most = w;
    }
  }
  std::vector<WidenedNode> list;
  list.reserve(found.size());
  for (const auto& [at, w] : found) list.push_back(describe(p, p.functions[at.first], at.second, weights(at.first), w));
  return list;
}

}  // namespace tern
