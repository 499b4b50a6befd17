#include "schema/passes/unread_states.h"

#include "schema/def_use.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

/// Removes the inputs that hold removed states, and renumbers inputs in write-backs.
void remove_state_inputs(Function& f, const std::vector<bool>& removed) {
  std::vector<std::uint32_t> new_index(f.inputs.size());
  std::vector<FunctionInput> remaining;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    new_index[i] = static_cast<std::uint32_t>(remaining.size());
    const bool is_removed = f.inputs[i].kind == FunctionInput::Kind::state && removed[f.inputs[i].state];
    if (!is_removed) remaining.push_back(std::move(f.inputs[i]));
  }
  f.inputs = std::move(remaining);
  for (WriteBack& w : f.writebacks) {
    if (w.target == WriteBack::Target::input) w.index = new_index[w.index];
  }
}

}  // namespace

std::vector<bool> read_states(const Program& program) {
  std::vector<bool> read(program.states.size());
  for (const Function& f : program.functions) {
    const DefUse uses(f);
    for (const FunctionInput& input : f.inputs) {
      if (input.kind == FunctionInput::Kind::state && uses.is_read(input.value)) read[input.state] = true;
    }
  }
  return read;
}

void remove_unread_states(Program& program, const std::vector<bool>& candidates) {
  remove_dead_code(program);
  std::vector<bool> removed = candidates;
  removed.resize(program.states.size());
  const std::vector<bool> read = read_states(program);
  for (std::size_t s = 0; s < removed.size(); ++s) removed[s] = removed[s] && !read[s];
  for (const Function& f : program.functions) {
    for (const WriteBack& w : f.writebacks) {
      if (w.target == WriteBack::Target::state) removed[w.index] = false;
    }
  }
  for (const State& s : program.states) {
    if (s.tied >= 0) removed[static_cast<std::size_t>(s.tied)] = false;
  }
  for (Function& f : program.functions) remove_state_inputs(f, removed);
  std::vector<std::uint32_t> new_index(program.states.size());
  std::vector<State> remaining;
  for (std::size_t i = 0; i < program.states.size(); ++i) {
    new_index[i] = static_cast<std::uint32_t>(remaining.size());
    if (!removed[i]) remaining.push_back(std::move(program.states[i]));
  }
  program.states = std::move(remaining);
  for (State& s : program.states) {
    if (s.tied >= 0) s.tied = static_cast<std::int32_t>(new_index[static_cast<std::size_t>(s.tied)]);
  }
  for (Function& f : program.functions) {
    for (FunctionInput& input : f.inputs) {
      if (input.kind == FunctionInput::Kind::state) input.state = new_index[input.state];
    }
    for (WriteBack& w : f.writebacks) {
      if (w.target == WriteBack::Target::state) w.index = new_index[w.index];
    }
  }
  remove_dead_code(program);  // removes the values of removed inputs and renumbers the others
}

}  // namespace tern
