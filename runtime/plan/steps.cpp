#include "runtime/plan/steps.h"

#include <tern/error.h>

#include "kernels/channels_last.h"
#include "kernels/portable/compiled.h"
#include "runtime/plan/layout.h"
#include "runtime/plan/passes.h"
#include "runtime/plan/reuse.h"
#include "runtime/plan/views.h"
#include "schema/op_record.h"

namespace tern {
namespace {

void plan_view(Draft& d, std::uint32_t i, const Node& n) {
  const ValueId v = n.outputs[0];
  if (v == kNoValue) return;
  PlannedOperand from = d.operand(n.inputs[0]);
  const auto plain = [&] {
    TensorView result_view = d.concrete.view(d.type(v));
    if (n.op != Op::bitcast) result_view.dtype = from.placed.view.dtype;
    return result_view;
  };
  TensorView view = plain();
  std::int64_t offset = from.placed.location.offset;
  if (!apply_view(n, from.placed.view, &view, &offset)) {
    from = d.contiguous(n.inputs[0], i, true);
    view = plain();
    offset = from.placed.location.offset;
    if (!apply_view(n, from.placed.view, &view, &offset))
      fail(ErrorCode::internal, "a view of contiguous elements cannot be made");
  }
  d.place_value(v, view, offset, from.root);
}

/// A step's node and kernel; the kernel is null for host ops.
struct NodeKernel {
  std::uint32_t i;
  const Node& n;
  const Kernel* kernel;
  bool channels_last;
};

bool takes_strides(const NodeKernel& w, std::size_t k) {
  return w.kernel != nullptr && (w.kernel->strided >> std::min<std::size_t>(k, 31) & 1) != 0;
}

/// A starting collective reads its operand until its wait; a copy of the operand lives equally long.
void remember_sent(Draft& d, const Node& n, const std::vector<PlannedOperand>& operands) {
  if (n.op != Op::collective || n.integer(AttrKey::mode) == 0) return;
  const PlannedOperand& operand = operands[0];
  if (operand.root == d.root(n.inputs[0])) return;
  d.sent[n.outputs[0]] = {n.inputs[0], operand};
  const std::uint32_t last = d.last_use[static_cast<std::size_t>(n.outputs[0])];
  if (last == kUsedToTheEnd || last > d.section.end) d.extend_lifetime(operand.root);
}

/// Returns the operand a wait keeps alive: the copy if the collective sends a copy.
PlannedOperand wait_operand(Draft& d, const Node& n, std::size_t k) {
  const auto sent = d.sent.find(n.inputs[0]);
  return sent != d.sent.end() && sent->second.first == n.inputs[k] ? sent->second.second : d.operand(n.inputs[k]);
}

std::vector<PlannedOperand> operands_of(Draft& d, const NodeKernel& w) {
  std::vector<PlannedOperand> inputs;
  for (std::size_t k = 0; k < w.n.inputs.size(); ++k) {
    const ValueId v = w.n.inputs[k];
    if (v == kNoValue) {
      inputs.emplace_back();
    } else if (w.n.op == Op::wait && k > 0) {
      inputs.push_back(wait_operand(d, w.n, k));
    } else if (takes_strides(w, k)) {
      inputs.push_back(d.operand(v));
    } else if (w.channels_last && k == 0 && w.n.op != Op::pointwise) {
      inputs.push_back(channels_last_operand(d, v, w.i));
    } else {
      inputs.push_back(d.contiguous(v, w.i));
    }
  }
  remember_sent(d, w.n, inputs);
  return inputs;
}

/// A result sized by its kernel at run time.
PlannedOperand unknown_result(const Draft& d, const Node& n, ValueId v) {
  if (n.dims(AttrKey::symbols).empty()) d.concrete.view(d.type(v));  // fails: no kernel sizes this result
  PlannedOperand o;
  o.placed.view.dtype = d.type(v).dtype;
  o.placed.view.rank = d.type(v).rank();
  o.placed.location = {Location::Kind::dynamic, static_cast<std::uint32_t>(v), 0};
  return o;
}

PlannedOperand result(Draft& d, const NodeKernel& w, std::size_t k) {
  const ValueId v = w.n.outputs[k];
  if (v == kNoValue) return {};
  if (!d.concrete.has_known_sizes(d.type(v))) return unknown_result(d, w.n, v);
  TensorView view = d.view(v);
  if (w.channels_last) {
    make_channels_last(view);
  } else if (w.kernel != nullptr && w.kernel->result_strided && k == 0) {
    lie_for_reader(d, v, view);
  }
  const int from = w.kernel != nullptr ? overwritten_operand(d, w.i, w.n, *w.kernel, k, view) : -1;
  if (from >= 0) {
    const ValueId taken = w.n.inputs[static_cast<std::size_t>(from)];
    d.place_value(v, view, d.placed(taken).location.offset, d.root(taken));
  } else {
    d.place_value(v, view, 0, d.new_block(d.bytes(v, view)));
  }
  return d.operand(v);
}

PlanStep::Kind kind_of(Op op) {
  if (has_trait(op, Trait::control)) return PlanStep::Kind::control;
  if (op == Op::item) return PlanStep::Kind::item;
  return op == Op::assert_true ? PlanStep::Kind::assert_true : PlanStep::Kind::kernel;
}

/// Returns null for host ops.
const Kernel* kernel_of(Draft& d, const Node& n) {
  if (has_trait(n.op, Trait::host)) return nullptr;
  const Kernel& kernel = d.prepared.kernels->kernels[static_cast<std::size_t>(n.op)];
  if (kernel.serves == nullptr) return &kernel;
  std::vector<TensorView> in;
  for (ValueId v : n.inputs) in.push_back(v == kNoValue ? TensorView{} : d.placed(v).view);
  KernelCall call;
  call.node = &n;
  call.in = in;
  return &portable::kernel_for(*d.prepared.kernels, call);
}

void plan_work(Draft& d, std::uint32_t i, const Node& n) {
  const Kernel* kernel = kernel_of(d, n);
  const NodeKernel w{i, n, kernel, kernel != nullptr && makes_channels_last(d, i, n, *kernel)};
  std::vector<PlannedOperand> inputs = operands_of(d, w), outputs;
  for (std::size_t k = 0; k < n.outputs.size(); ++k) outputs.push_back(result(d, w, k));
  if (w.channels_last && n.op == Op::pointwise) {  // axes mean nothing: the result is contiguous in this order
    const int rank = outputs[0].placed.view.rank;
    for (PlannedOperand& o : inputs) o.placed.view = to_channels_last_order(o.placed.view, rank);
    for (PlannedOperand& o : outputs) o.placed.view = to_channels_last_order(o.placed.view, rank);
  }
  PlanStep& s = d.add_step(kind_of(n.op), i, inputs, outputs);
  s.resolved = &n;
  s.kernel = kernel;
}

/// Reserves space for the section's steps and views, because moving views is slow.
void reserve(Draft& d) {
  std::size_t args = 0, steps = 0;
  for (const Node* n : d.resolved) {
    if (is_view(n->op)) continue;
    args += n->inputs.size() + n->outputs.size();
    ++steps;
  }
  d.plan.args.reserve(args);
  d.plan.locations.reserve(args);
  d.arg_root.reserve(args);
  d.plan.steps.reserve(steps);
}

}  // namespace

void plan_node(Draft& d, std::uint32_t i) {
  const Node& n = d.node(i);
  if (n.op == Op::assert_dim) return;
  for (ValueId v : n.inputs) {
    if (v != kNoValue && d.placed(v).location.kind == Location::Kind::none)
      fail(ErrorCode::internal, "an operand has no memory");
  }
  if (is_view(n.op)) {
    plan_view(d, i, n);
  } else {
    plan_work(d, i, n);
  }
}

void plan_steps(Draft& d) {
  reserve(d);
  for (std::uint32_t i = d.section.begin; i < d.section.end; ++i) {
    d.run_for_node(i, [&] {
      const std::int32_t part = d.part_of.empty() ? -1 : d.part_of[i - d.section.begin];
      if (part < 0) return plan_node(d, i);
      // A part runs at the position of its last node.
      if (d.section_parts[static_cast<std::size_t>(part)].nodes.back() == i)
        plan_part(d, static_cast<std::size_t>(part));
    });
  }
}

}  // namespace tern
