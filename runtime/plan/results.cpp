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
  PlannedOperand source, destination;
};

PlannedOperand target_of(Draft& d, const WriteBack& w) {
  const bool state = w.target == WriteBack::Target::state;
  PlannedOperand to;
  to.placed.location = {state ? Location::Kind::state : Location::Kind::input, w.index, 0};
  to.placed.view = state ? d.state_view(d.program.states[w.index]) : d.placed(d.f.inputs[w.index].value).view;
  return to;
}

/// Returns the write-backs whose values are not in place yet.
std::vector<PendingWriteBack> pending_write_backs(Draft& d) {
  std::vector<PendingWriteBack> pending;
  for (const WriteBack& w : d.f.writebacks) {
    const PendingWriteBack p{w.value, d.operand(w.value), target_of(d, w)};
    const Placed &from = p.source.placed, &to = p.destination.placed;
    if (!std::ranges::equal(from.view.shape(), to.view.shape())) {
      const bool state = w.target == WriteBack::Target::state;
      fail(ErrorCode::runtime,
           fmt::format("a value of {} is written back to {} '{}' of {}", text_of(from.view), state ? "state" : "input",
                       state ? d.program.states[w.index].name : d.f.inputs[w.index].name, text_of(to.view)));
    }
    if (from.location != to.location || from.view.strides != to.view.strides) pending.push_back(p);
  }
  return pending;
}

}  // namespace

void plan_results(Draft& d) {
  if (d.request.key.section + 1 != d.facts.sections.size()) return;
  const auto end = d.f.nodes.empty() ? 0u : static_cast<std::uint32_t>(d.f.nodes.size() - 1);
  std::vector<PendingWriteBack> pending = pending_write_backs(d);
  const auto will_change = [changed = pending](const Location& location) {
    return std::ranges::any_of(changed, [&](const PendingWriteBack& p) {
      return p.destination.placed.location.kind == location.kind &&
             p.destination.placed.location.index == location.index;
    });
  };
  for (const FunctionOutput& o : d.f.outputs) {
    PlannedOperand result;
    if (o.value != kNoValue) {
      const Location& location = d.placed(o.value).location;
      const bool outside = location.kind == Location::Kind::input || location.kind == Location::Kind::state;
      result = d.contiguous(o.value, end, will_change(location) || (outside && !d.f.entry));
      d.extend_lifetime(result.root);
    }
    d.plan.outputs.push_back(result.placed);
    d.output_root.push_back(result.root);
  }
  for (PendingWriteBack& p : pending) {
    if (!will_change(p.source.placed.location)) continue;
    p.source = d.contiguous(p.value, end, true);
    d.extend_lifetime(p.source.root);
  }
  for (const PendingWriteBack& p : pending) d.add_copy(end, p.value, p.source, p.destination);
}

}  // namespace tern
