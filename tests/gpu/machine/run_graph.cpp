// Runs executable graphs, and interprets conditional nodes.
#include <algorithm>

#include "tests/gpu/machine/machine.h"
#include "tests/gpu/machine/settings.h"

namespace tern::emulator {

using ull = unsigned long long;

// Nodes are in execution order (instantiate()).
void Machine::run(const Graph& graph, const Executable& executable) {
  for (const auto& node : graph.nodes) run(*node, executable);
}

void Machine::run(const Node& node, const Executable& executable) {
  if (const auto* work = std::get_if<Work>(&node.content)) {
    const uint64_t begin = clock_;
    run(*work);
    const char kind = std::holds_alternative<Launch>(*work) ? 'k' : std::holds_alternative<Copy>(*work) ? 'c' : 'f';
    if (observer_ != nullptr) observer_->ran(node.id, running_launch_, kind, begin, clock_);
  } else if (const auto* event_node = std::get_if<EventNode>(&node.content)) {
    Record& record = *event_node->event->record;
    record.is_complete = true;
    record.time = ++clock_;
    record.stream = nullptr;
  } else if (const auto* child = std::get_if<Child>(&node.content)) {
    run(*child->graph, executable);
  } else if (const auto* conditional = std::get_if<Conditional>(&node.content)) {
    auto at = std::find_if(executable.conditions.begin(), executable.conditions.end(),
                           [&](const auto& condition) { return condition->handle == conditional->condition; });
    if (at == executable.conditions.end()) fatal("a conditional node has no condition");
    ConditionalHandle& condition = **at;
    auto value = [&] {
      // CUDA programming guide, "Conditional Handles": without a default "the condition value is initially undefined at
      // the start of each graph execution".
      if (!condition.defined) {
        fatal("a conditional node reads condition 0x%llx, which this launch has not set and which has no default",
              static_cast<ull>(condition.handle));
      }
      return condition.value;
    };
    switch (conditional->type) {
      case Condition::if_:
        if (value() != 0) {
          run(*conditional->bodies[0], executable);
        } else if (conditional->bodies.size() == 2) {
          run(*conditional->bodies[1], executable);
        }
        break;
      case Condition::while_:
        for (uint64_t rounds = 0; value() != 0; ++rounds) {
          if (rounds == settings().most_rounds) {
            fatal("a WHILE node runs its body for the %lluth time: TERN_EMULATOR_ROUNDS allows no more",
                  static_cast<ull>(rounds) + 1);
          }
          run(*conditional->bodies[0], executable);
        }
        break;
      case Condition::switch_:
        if (value() < conditional->bodies.size()) run(*conditional->bodies[value()], executable);
        break;
    }
  }
}

// Called by kernels (cudaGraphSetConditional). "Handles can only be set from the context with which they are
// associated."
void Machine::set_condition(uint64_t handle, uint32_t value) {
  if (running_ == nullptr) fatal("a kernel outside of a graph sets condition 0x%llx", static_cast<ull>(handle));
  for (const auto& condition : running_->conditions) {
    if (condition->handle != handle) continue;
    condition->defined = true;
    condition->value = value;
    return;
  }
  fatal("a kernel sets 0x%llx, which is no conditional handle of the graph that it runs in", static_cast<ull>(handle));
}

}  // namespace tern::emulator
