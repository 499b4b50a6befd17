#include "runtime/plan/layout.h"

#include <algorithm>
#include <array>

#include "kernels/channels_last.h"
#include "runtime/estimate_observer.h"

namespace tern {
namespace {

constexpr std::size_t kMaxInputs = 32;

bool is_plain(const TensorType& type) {
  return elements_per_byte(type.dtype) == 1 && !type.quantized();
}

/// A pointwise result takes the memory order of an operand of equal sizes.
bool follows_channels_last(Draft& d, const Node& n, const TensorView& out) {
  if (std::ranges::any_of(n.expr.code, [](const Instruction& i) { return i.op == Scalar::index; })) return false;
  if (!is_plain(d.type(n.outputs[0])) || !std::ranges::all_of(n.inputs, [&](ValueId v) { return is_plain(d.type(v)); }))
    return false;
  return std::ranges::any_of(n.inputs, [&](ValueId v) {
    const TensorView& in = d.placed(v).view;
    return std::ranges::equal(in.shape(), out.shape()) && is_channels_last(in);
  });
}

}  // namespace

void report_costs(const Draft& d, std::uint32_t i, const KernelCall& call) {
  auto* observer = dynamic_cast<EstimateObserver*>(d.prepared.listeners.observer);
  if (observer == nullptr) return;
  observer->estimated(d.request.key.function, d.facts.numbers.empty() ? i : d.facts.numbers[i], algorithm_costs(call));
}

bool makes_channels_last(Draft& d, std::uint32_t i, const Node& n, const Kernel& kernel) {
  const auto others = std::span(n.outputs).subspan(std::min<std::size_t>(1, n.outputs.size()));
  if (n.outputs.empty() || n.outputs[0] == kNoValue || !d.concrete.has_known_sizes(d.type(n.outputs[0])) ||
      std::ranges::any_of(others, [](ValueId v) { return v != kNoValue; }))
    return false;
  TensorView out = d.view(n.outputs[0]);
  if (n.op == Op::pointwise) return follows_channels_last(d, n, out);
  if (kernel.channels_last == nullptr) return false;
  std::vector<TensorView> in;
  std::array<bool, kMaxInputs> constant{};
  for (std::size_t k = 0; k < n.inputs.size(); ++k) {
    const ValueId v = n.inputs[k];
    in.push_back(v == kNoValue ? TensorView{} : d.placed(v).view);
    if (v == kNoValue) continue;
    in.back().data = const_cast<std::byte*>(d.constant_bytes(v));
    if (k < kMaxInputs) constant[k] = in.back().data != nullptr;
  }
  KernelCall call;
  call.constant = n.inputs.size() <= kMaxInputs ? constant.data() : nullptr;
  call.node = &n;
  call.in = in;
  call.out = {&out, 1};
  call.precision = d.prepared.precision(n);
  call.intensity = d.intensity;
  call.algorithm = d.prepared.algorithm(d.request.key.function, i, d.request.key.threads);
  // Only here the result's order is that of its readers; kernels weigh a reorder.
  if (n.op == Op::convolution && d.read_channels_last[static_cast<std::size_t>(n.outputs[0])]) make_channels_last(out);
  report_costs(d, i, call);
  return kernel.channels_last(call);
}

PlannedOperand channels_last_operand(Draft& d, ValueId v, std::uint32_t node) {
  const PlannedOperand from = d.operand(v);
  TensorView view = from.placed.view;
  if (is_channels_last(view)) return from;
  make_channels_last(view);
  const TensorView& given = from.placed.view;
  if (given.contiguous() && to_channels_last_order(given, given.rank).contiguous())
    return {{view, from.placed.location}, from.root};  // either order serves
  return d.copied(v, node, view);
}

void lie_for_reader(const Draft& d, ValueId v, TensorView& view) {
  const std::int32_t reader = d.facts.permuted_by[static_cast<std::size_t>(v)];
  if (reader < 0) return;
  const Dims& axes = d.f.nodes[static_cast<std::size_t>(reader)].dims(AttrKey::axes);
  const auto axis = [&](std::size_t i) {
    const std::int64_t a = axes[i].value();
    return static_cast<std::size_t>(a < 0 ? a + view.rank : a);
  };
  if (axes.empty() || axis(axes.size() - 1) + 1 != axes.size()) return;
  std::int64_t stride = 1;
  for (std::size_t i = axes.size(); i-- > 0; stride *= std::max<std::int64_t>(1, view.sizes[axis(i)]))
    view.strides[axis(i)] = stride;
}

}  // namespace tern
