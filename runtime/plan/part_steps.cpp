// Parts of a section compiled by the device as a whole.
#include <algorithm>

#include "runtime/devices/section_parts.h"
#include "runtime/plan/passes.h"
#include "runtime/plan/steps.h"

namespace tern {
namespace {

/// View of a value for the device; constants include their address.
TensorView offered(Draft& d, ValueId v) {
  const Placed& p = d.placed(v);
  if (p.location.kind == Location::Kind::none) return d.concrete.view(d.type(v));  // produced inside
  TensorView view = p.view;
  const bool constant = p.location.kind == Location::Kind::state && d.request.constants[p.location.index] != nullptr;
  view.data = constant ? d.request.constants[p.location.index] + p.location.offset : nullptr;
  return view;
}

struct PartState : KernelState {
  explicit PartState(std::unique_ptr<const portable::OwnKernel> k) : kernel(std::move(k)) {}
  std::unique_ptr<const portable::OwnKernel> kernel;
};

const portable::OwnKernel& compiled_part(const KernelCall& call) {
  return *static_cast<const PartState*>(call.state)->kernel;
}

constexpr Kernel kPartKernel{.run = [](KernelCall& call) { compiled_part(call).run(call); },
                             .scratch = [](const KernelCall& call) { return compiled_part(call).scratch(); },
                             .strided = kAllStrided};

}  // namespace

void find_parts(Draft& d) {
  if (d.prepared.part_compiler == nullptr) return;
  d.section_parts = find_section_parts(*d.prepared.part_compiler, d.f, d.section.begin, d.section.end, d.concrete);
  d.part_of.assign(d.section.end - d.section.begin, -1);
  for (std::size_t p = 0; p < d.section_parts.size(); ++p) {
    const SectionPart& part = d.section_parts[p];
    for (std::uint32_t i : part.nodes) d.part_of[i - d.section.begin] = static_cast<std::int32_t>(p);
    // The nodes run at the position of the last node: no earlier step may overwrite their operands.
    for (ValueId v : part.inputs) {
      std::uint32_t& last = d.last_use[static_cast<std::size_t>(v)];
      last = std::max(last, part.nodes.back() + 1);
    }
  }
}

void plan_part(Draft& d, std::size_t number) {
  const SectionPart& part = d.section_parts[number];
  std::vector<const Node*> nodes;
  for (std::uint32_t i : part.nodes) nodes.push_back(&d.node(i));
  auto compiled = d.prepared.part_compiler->compile({nodes, part.inputs, part.outputs,
                                                     [&](const Node& n) { return d.prepared.precision(n); },
                                                     [&](ValueId v) { return offered(d, v); }});
  if (compiled == nullptr) {
    for (std::uint32_t i : part.nodes) plan_node(d, i);
    return;
  }
  std::vector<PlannedOperand> inputs, outputs;
  for (ValueId v : part.inputs) inputs.push_back(d.operand(v));
  for (ValueId v : part.outputs) {
    const TensorView out = d.concrete.view(d.type(v));
    d.place_value(v, out, 0, d.new_block(view_bytes(d.type(v), out)));
    outputs.push_back(d.operand(v));
  }
  PlanStep& s = d.add_step(PlanStep::Kind::kernel, part.nodes.back(), inputs, outputs);
  s.members = static_cast<std::uint32_t>(part.nodes.size());
  s.resolved = nodes.back();
  s.kernel = &kPartKernel;
  s.state = std::make_unique<PartState>(std::move(compiled));
}

}  // namespace tern
