// The end of a function: its results, then its write-backs. Values in memory about to be changed by a write-back are
// copied first.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "runtime/plan/passes.h"

namespace tern {
namespace {

struct PendingWriteBack {
  ValueId value;
  PlannedOperand from, to;
};

PlannedOperand target_of(Draft& d, const WriteBack& w) {
  const bool state = w.target == WriteBack::Target::state;
  PlannedOperand to;
  to.placed.at = {state ? Location::Kind::state : Location::Kind::input, w.index, 0};
  to.placed.view = state ? d.state_view(d.program.states[w.index]) : d.placed(d.f.inputs[w.index].value).view;
  return to;
}

/// Returns the write-backs whose values are not in place yet.
std::vector<PendingWriteBack> pending_write_backs(Draft& d) {
  std::vector<PendingWriteBack> pending;
  for (const WriteBack& w : d.f.writebacks) {
    const PendingWriteBack p{w.value, d.operand(w.value), target_of(d, w)};
    const Placed &from = p.from.placed, &to = p.to.placed;
    if (!std::ranges::equal(from.view.shape(), to.view.shape())) {
      const bool state = w.target == WriteBack::Target::state;
      fail(ErrorCode::runtime,
           fmt::format("a value of {} is written back to {} '{}' of {}", text_of(from.view), state ? "state" : "input",
                       state ? d.program.states[w.index].name : d.f.inputs[w.index].name, text_of(to.view)));
    }
    if (from.at != to.at || from.view.strides != to.view.strides) pending.push_back(p);
  }
  return pending;
}

}  // namespace

void plan_results(Draft& d) {
  if (d.request.key.section + 1 != d.facts.sections.size()) return;
  const auto end = d.f.nodes.empty() ? 0u : static_cast<std::uint32_t>(d.f.nodes.size() - 1);
  std::vector<PendingWriteBack> pending = pending_write_backs(d);
  const auto will_change = [changed = pending](const Location& at) {
    return std::ranges::any_of(changed, [&](const PendingWriteBack& p) {
      return p.to.placed.at.kind == at.kind && p.to.placed.at.index == at.index;
    });
  };
  for (const FunctionOutput& o : d.f.outputs) {
    PlannedOperand result;
    if (o.value != kNoValue) {
      const Location& at = d.placed(o.value).at;
      const bool outside = at.kind == Location::Kind::input || at.kind == Location::Kind::state;
      result = d.contiguous(o.value, end, will_change(at) || (outside && !d.f.entry));
      d.keep(result.root);
    }
    d.plan.outputs.push_back(result.placed);
    d.output_root.push_back(result.root);
  }
  for (PendingWriteBack& p : pending) {
    if (!will_change(p.from.placed.at)) continue;
    p.from = d.contiguous(p.value, end, true);
    d.keep(p.from.root);
  }
  for (const PendingWriteBack& p : pending) d.add_copy(end, p.value, p.from, p.to);
}

}  // namespace tern
