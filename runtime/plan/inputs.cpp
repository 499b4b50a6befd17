// Places a function's inputs and states, and values of earlier sections.
#include "runtime/plan/passes.h"

namespace tern {
namespace {

void place_own(Draft& d) {
  for (std::uint32_t i = 0; i < d.f.inputs.size(); ++i) {
    const FunctionInput& in = d.f.inputs[i];
    if (in.kind == FunctionInput::Kind::none || in.value == kNoValue) continue;
    const bool state = in.kind == FunctionInput::Kind::state;
    Root root;
    root.location = {state ? Location::Kind::state : Location::Kind::input, state ? in.state : i, 0};
    const TensorView view = state ? d.state_view(d.program.states[in.state]) : d.concrete.view(d.type(in.value));
    d.place_value(in.value, view, 0, d.new_root(root));
  }
}

void place_earlier(Draft& d) {
  for (std::size_t v = 0; v < d.f.values.size(); ++v) {
    if (d.root_of[v] != kNoRoot || d.facts.section_of[v] >= d.request.key.section) continue;
    Placed& p = d.values[v];
    if (p.location.kind == Location::Kind::none) {
      if (d.facts.last_use[v] == kNeverUsed || !d.concrete.has_known_sizes(d.f.values[v].type)) continue;
      p = {d.concrete.view(d.f.values[v].type), {Location::Kind::dynamic, static_cast<std::uint32_t>(v), 0}};
    }
    Root root;
    root.location = p.location;
    root.last_use = kUsedToTheEnd;  // other views of the memory are unknown here
    d.root_of[v] = d.new_root(root);
  }
}

}  // namespace

void place_inputs(Draft& d) {
  place_own(d);
  place_earlier(d);
  d.placed_values.clear();
}

}  // namespace tern
