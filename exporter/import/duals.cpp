#include "exporter/import/duals.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "exporter/gradients/detach.h"
#include "exporter/gradients/differentiate.h"

namespace tern::importing {
namespace {

enum class DualStep { make_dual, unpack_dual, unwrap, enter, leave_level };
struct DualTarget {
  std::string_view name;
  DualStep step;
};
constexpr DualTarget kDualTargets[] = {
    {"torch._functorch.predispatch._make_dual", DualStep::make_dual},
    {"torch.ops.aten._make_dual.default", DualStep::make_dual},
    {"torch._functorch.predispatch._unpack_dual", DualStep::unpack_dual},
    {"torch.ops.aten._unpack_dual.default", DualStep::unpack_dual},
    {"torch._functorch.predispatch._unwrap_for_grad", DualStep::unwrap},
    {"torch._functorch.predispatch._jvp_increment_nesting", DualStep::enter},
    {"torch._functorch.predispatch._jvp_decrement_nesting", DualStep::leave_level},
};
/// A forward_ad level without jvp cannot be nested.
constexpr std::string_view kLevels[] = {"torch._functorch.predispatch._enter_dual_level",
                                        "torch._functorch.predispatch._exit_dual_level"};

const DualTarget* find(std::string_view target) {
  const auto* const found = std::ranges::find(kDualTargets, target, &DualTarget::name);
  return found == std::end(kDualTargets) ? nullptr : found;
}

}  // namespace

bool makes_duals(const pt2::Graph& graph) {
  const std::function<bool(const pt2::Argument&)> in_argument = [&](const pt2::Argument& a) {
    return (a.graph != nullptr && makes_duals(*a.graph)) || std::ranges::any_of(a.items, in_argument);
  };
  return std::ranges::any_of(graph.nodes, [&](const pt2::Node& node) {
    const DualTarget* target = find(node.target);
    return (target != nullptr && target->step == DualStep::make_dual) ||
           std::ranges::any_of(node.inputs,
                               [&](const pt2::NamedArgument& argument) { return in_argument(argument.arg); });
  });
}

bool Duals::call(const pt2::Node& node) {
  if (std::ranges::find(kLevels, node.target) != std::end(kLevels)) return true;
  const DualTarget* target = find(node.target);
  if (target == nullptr) return false;
  switch (target->step) {
    case DualStep::make_dual: make_dual(node); break;
    case DualStep::unpack_dual: unpack_dual(node); break;
    case DualStep::unwrap: bind(node, 0, tensor_at(node, 0)); break;
    case DualStep::enter: ++level_; break;
    case DualStep::leave_level: leave_level(); break;
  }
  return true;
}

ValueId Duals::tensor_at(const pt2::Node& node, std::size_t input) {
  if (input >= node.inputs.size())
    fail(ErrorCode::bad_file, fmt::format("operand {} of {} is missing", input, node.target));
  return scope_.tensor_of(node.inputs[input].arg);
}

void Duals::bind(const pt2::Node& node, std::size_t output, ValueId value) {
  if (output >= node.outputs.size() || node.outputs[output].name.empty()) return;
  scope_.bind(node.outputs[output].name, Binding::tensor(aliases_.add_base(value)));
}

void Duals::make_dual(const pt2::Node& node) {
  constexpr std::size_t kMaxDuals = 256;  // each is differentiated at each _unpack_dual
  if (duals_.size() >= kMaxDuals)
    fail(ErrorCode::unsupported, fmt::format("the program has more than {} dual numbers at a time", kMaxDuals));
  const ValueId x = tensor_at(node, 0);
  // Creates a separate value, passing on derivatives of the outer levels.
  const ValueId primal = written_detached(builder_, x, x);
  duals_.push_back({primal, scope_.convert_like(tensor_at(node, 1), x), level_});
  bind(node, 0, primal);
}

ValueId Duals::tangent_of(ValueId value) {
  std::vector<ValueId> primals, tangents;
  for (const Dual& d : duals_) {
    if (d.level != level_) continue;
    primals.push_back(d.primal);
    tangents.push_back(d.tangent);
  }
  const DType t = builder_.dtype(value);
  if (primals.empty() || !(is_floating(t) || is_complex(t))) return zeros_like(builder_, value);
  // J v is the derivative of J^T u with respect to u; J^T u is linear in u, so any u will do.
  const ValueId u = detached(builder_, value);
  const GradientSeed cotangent{value, u};
  const std::vector<ValueId> transposed = differentiate(builder_, {&cotangent, 1}, primals);
  std::vector<GradientSeed> directions;
  for (std::size_t i = 0; i < primals.size(); ++i) {
    if (transposed[i] != kNoValue) directions.push_back({transposed[i], tangents[i]});
  }
  if (directions.empty()) return zeros_like(builder_, value);
  const ValueId result = differentiate(builder_, directions, {&u, 1})[0];
  return result == kNoValue ? zeros_like(builder_, value) : result;
}

void Duals::unpack_dual(const pt2::Node& node) {
  const ValueId value = tensor_at(node, 0);
  bind(node, 0, value);
  if (node.outputs.size() > 1 && !node.outputs[1].name.empty()) bind(node, 1, tangent_of(value));
}

void Duals::leave_level() {
  std::erase_if(duals_, [this](const Dual& d) { return d.level == level_; });
  --level_;
}

}  // namespace tern::importing
