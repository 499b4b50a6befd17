#include "runtime/plan/reuse.h"

#include <algorithm>

namespace tern {
namespace {

bool same_shape(const TensorView& a, const TensorView& b) {
  return std::ranges::equal(a.shape(), b.shape());
}

/// Memory outliving the run (inputs, states) may only be overwritten by its own write-back.
bool is_written_back(Draft& d, ValueId result, const Root& r, const Placed& p) {
  const std::int32_t w = d.facts.written_to[static_cast<std::size_t>(result)];
  if (w < 0 || p.location.offset != 0) return false;
  const WriteBack& target = d.f.writebacks[static_cast<std::size_t>(w)];
  const bool state = target.target == WriteBack::Target::state;
  if (state != (r.location.kind == Location::Kind::state) || target.index != r.location.index) return false;
  return !(state && d.prepared.read_in_bodies[r.location.index]);
}

/// True if another operand or an earlier result shares the memory.
bool is_shared(Draft& d, const Node& n, std::size_t k, std::size_t from, RootId root) {
  const Placed& p = d.placed(n.inputs[from]);
  for (std::size_t other = 0; other < n.inputs.size(); ++other) {
    if (other == from || n.inputs[other] == kNoValue || d.root(n.inputs[other]) != root) continue;
    const Placed& o = d.placed(n.inputs[other]);
    // A pointwise kernel reads each operand's element before writing the result's element.
    if (n.op != Op::pointwise || o.location != p.location || o.view.strides != p.view.strides ||
        !same_shape(o.view, p.view))
      return true;
  }
  return std::any_of(n.outputs.begin(), n.outputs.begin() + static_cast<std::ptrdiff_t>(k),
                     [&](ValueId v) { return v != kNoValue && d.root(v) == root; });
}

/// Like is_shared, for nodes with many operands, none allowed in the result's memory: the time per node stays linear.
bool is_shared_in_list(Draft& d, std::uint32_t i, const Node& n, std::size_t k, RootId root) {
  RootUses& uses = d.root_uses;
  if (uses.node != i || uses.results_seen > k) {
    uses = {.node = i, .operands = {}, .results = {}};
    for (ValueId v : n.inputs) {
      if (v != kNoValue) ++uses.operands[d.root(v)];
    }
  }
  for (; uses.results_seen < k; ++uses.results_seen) {
    const ValueId v = n.outputs[uses.results_seen];
    if (v != kNoValue) uses.results.insert(d.root(v));
  }
  return uses.operands[root] > 1 || uses.results.contains(root);
}

bool can_overwrite(Draft& d, std::uint32_t i, const Node& n, std::size_t k, std::size_t from, const TensorView& out) {
  if (from >= n.inputs.size() || n.inputs[from] == kNoValue) return false;
  const ValueId v = n.inputs[from];
  const Placed& p = d.placed(v);
  const RootId root = d.root(v);
  const Root& r = d.root_at(root);
  if (p.view.dtype != out.dtype || d.type(v).quantized() || !same_shape(p.view, out)) return false;
  if (out.contiguous() ? !p.view.contiguous() : p.view.strides != out.strides) return false;
  if (r.last_use > i + 1) return false;
  if (r.location.kind == Location::Kind::state || r.location.kind == Location::Kind::input) {
    if (!is_written_back(d, n.outputs[k], r, p)) return false;
  } else if (r.block < 0) {
    return false;
  }
  constexpr std::size_t kMany = 32;
  if (n.op != Op::pointwise && n.inputs.size() > kMany) return !is_shared_in_list(d, i, n, k, root);
  return !is_shared(d, n, k, from, root);
}

}  // namespace

int overwritten_operand(Draft& d, std::uint32_t i, const Node& n, const Kernel& kernel, std::size_t k,
                        const TensorView& out) {
  if (kernel.in_place_input != nullptr) {
    const int from = kernel.in_place_input(d.f.nodes[i], k);
    return from >= 0 && can_overwrite(d, i, n, k, static_cast<std::size_t>(from), out) ? from : -1;
  }
  if (k != 0 || kernel.in_place < 0) return -1;
  const auto first = static_cast<std::size_t>(kernel.in_place);
  const std::size_t end = n.op == Op::pointwise ? n.inputs.size() : first + 1;
  for (std::size_t from = first; from < end; ++from) {
    if (can_overwrite(d, i, n, k, from, out)) return static_cast<int>(from);
  }
  return -1;
}

}  // namespace tern
