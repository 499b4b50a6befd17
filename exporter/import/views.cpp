#include "exporter/import/views.h"

#include <algorithm>

#include "exporter/gradients/detach.h"
#include "schema/op_record.h"

namespace tern::importing {
namespace {

/// Collects the view nodes from `base` to `result`, in order. False if another op lies between.
bool chain_between(const Function& f, ValueId base, ValueId result, std::size_t first, std::vector<Node>* chain) {
  for (std::size_t i = f.nodes.size(); result != base && i-- > first;) {
    const Node& n = f.nodes[i];
    if (n.outputs.size() != 1 || n.outputs[0] != result) continue;
    if (!is_view(n.op)) return false;
    chain->push_back(n);
    result = n.inputs[0];
  }
  std::reverse(chain->begin(), chain->end());
  return result == base;
}

ValueId repeat(Builder& b, const Node& step, ValueId base) {
  return b.add(step.op, {base}, step.attrs);
}

/// New value of `base` after replacing `view`, the result of `step`. kNoValue if the view repeats a position of `base`.
ValueId undo(Builder& b, const Node& step, ValueId base, ValueId view) {
  switch (step.op) {
    case Op::reshape: return b.reshape(view, Dims(b.shape(base)));
    case Op::permute: {
      const Dims& axes = step.dims(AttrKey::axes);
      std::vector<std::int64_t> inverse(axes.size());
      for (std::size_t i = 0; i < axes.size(); ++i) {
        inverse[static_cast<std::size_t>(axes[i].value())] = static_cast<std::int64_t>(i);
      }
      return b.permute(view, inverse);
    }
    case Op::slice: return b.add(Op::slice_scatter, {base, view}, step.attrs);
    case Op::as_strided:
      return b.add(
          Op::as_strided_scatter, {base, view},
          {attr(AttrKey::strides, step.dims(AttrKey::strides)), attr(AttrKey::offset, step.dim(AttrKey::offset))});
    case Op::bitcast: {
      std::vector<Attr> attrs = {attr_dtype(b.dtype(base))};
      if (step.has(AttrKey::k)) attrs.push_back(attr(AttrKey::k, step.dim(AttrKey::k)));
      return b.add(Op::bitcast, {view}, std::move(attrs));
    }
    default: return kNoValue;
  }
}

bool can_undo(Builder& b, const std::vector<Node>& chain) {
  for (const Node& n : chain) {
    if (n.op != Op::expand) continue;
    const Dim source_numel = b.numel(n.inputs[0]), target_numel = b.pool().product(n.dims(AttrKey::sizes));
    if (!b.pool().proved_equal(source_numel, target_numel)) return false;
  }
  return true;
}

}  // namespace

ViewStep view_step(Builder& b, std::string op, ValueId base, ValueId result, std::size_t first,
                   std::function<ValueId(ValueId base)> recompute) {
  ViewStep step;
  step.op = std::move(op);
  std::vector<Node> chain;
  if (!chain_between(b.function(), base, result, first, &chain)) {
    step.forward = std::move(recompute);
    return step;
  }
  step.forward = [&b, chain](ValueId v) {
    for (const Node& n : chain) v = repeat(b, n, v);
    return v;
  };
  if (!can_undo(b, chain)) return step;
  step.inverse = [&b, chain](ValueId operand, ValueId view) {
    std::vector<ValueId> inputs = {operand};
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) inputs.push_back(repeat(b, chain[i], inputs.back()));
    for (std::size_t i = chain.size(); i-- > 0;) {
      view = chain[i].op == Op::expand ? b.reshape(view, Dims(b.shape(inputs[i]))) : undo(b, chain[i], inputs[i], view);
    }
    return view;
  };
  return step;
}

bool is_detach(std::string_view target) {
  return target == "aten.detach.default" || target == "aten.detach_copy.default";
}

ViewStep detached_view_step(Builder& b) {
  ViewStep step;
  step.op = "aten.detach.default";
  step.forward = [&b](ValueId base) { return detached(b, base); };
  step.inverse = [&b](ValueId base, ValueId view) { return written_detached(b, base, view); };
  return step;
}

// Follows at::detail::computeStride: each run of old axes dense in memory can be divided anew.
bool reshape_copies(const RecordedLayout& source, const RecordedLayout& target) {
  if (!source.is_known || !target.is_known) return false;
  const auto count = [](const std::vector<std::int64_t>& sizes) {
    std::int64_t n = 1;
    for (std::int64_t s : sizes) n = s == 0 ? 0 : (n > (std::int64_t{1} << 40) ? n : n * s);
    return n;
  };
  if (count(source.sizes) == 0 || source.sizes.empty()) return false;
  auto view = static_cast<std::ptrdiff_t>(target.sizes.size()) - 1;
  std::int64_t run_stride = source.strides.back(), run = 1, covered = 1;
  for (std::size_t a = source.sizes.size(); a-- > 0;) {
    run *= source.sizes[a];
    // The run continues while the next outer axis has the run's length as its stride.
    if (a > 0 && (source.sizes[a - 1] == 1 || source.strides[a - 1] == run * run_stride)) continue;
    while (view >= 0 && (covered < run || target.sizes[static_cast<std::size_t>(view)] == 1)) {
      covered *= target.sizes[static_cast<std::size_t>(view--)];
    }
    if (covered != run) return true;
    if (a > 0) run_stride = source.strides[a - 1];
    run = covered = 1;
  }
  return view != -1;
}

}  // namespace tern::importing
