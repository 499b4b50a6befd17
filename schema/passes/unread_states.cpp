#include "schema/passes/unread_states.h"

#include "schema/def_use.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

/// Removes the inputs of these states, and renumbers inputs in write-backs.
void drop_inputs(Function& f, const std::vector<bool>& gone) {
  std::vector<std::uint32_t> number(f.inputs.size());
  std::vector<FunctionInput> kept;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    number[i] = static_cast<std::uint32_t>(kept.size());
    const bool drop = f.inputs[i].kind == FunctionInput::Kind::state && gone[f.inputs[i].state];
    if (!drop) kept.push_back(std::move(f.inputs[i]));
  }
  f.inputs = std::move(kept);
  for (WriteBack& w : f.writebacks) {
    if (w.target == WriteBack::Target::input) w.index = number[w.index];
  }
}

}  // namespace

std::vector<bool> read_states(const Program& program) {
  std::vector<bool> read(program.states.size());
  for (const Function& f : program.functions) {
    const DefUse uses(f);
    for (const FunctionInput& in : f.inputs) {
      if (in.kind == FunctionInput::Kind::state && uses.is_read(in.value)) read[in.state] = true;
    }
  }
  return read;
}

void remove_unread_states(Program& program, const std::vector<bool>& candidates) {
  remove_dead_code(program);
  std::vector<bool> gone = candidates;
  gone.resize(program.states.size());
  const std::vector<bool> read = read_states(program);
  for (std::size_t s = 0; s < gone.size(); ++s) gone[s] = gone[s] && !read[s];
  for (const Function& f : program.functions) {
    for (const WriteBack& w : f.writebacks) {
      if (w.target == WriteBack::Target::state) gone[w.index] = false;
    }
  }
  for (const State& s : program.states) {
    if (s.tied >= 0) gone[static_cast<std::size_t>(s.tied)] = false;
  }
  for (Function& f : program.functions) drop_inputs(f, gone);
  std::vector<std::uint32_t> number(program.states.size());
  std::vector<State> kept;
  for (std::size_t i = 0; i < program.states.size(); ++i) {
    number[i] = static_cast<std::uint32_t>(kept.size());
    if (!gone[i]) kept.push_back(std::move(program.states[i]));
  }
  program.states = std::move(kept);
  for (State& s : program.states) {
    if (s.tied >= 0) s.tied = static_cast<std::int32_t>(number[static_cast<std::size_t>(s.tied)]);
  }
  for (Function& f : program.functions) {
    for (FunctionInput& in : f.inputs) {
      if (in.kind == FunctionInput::Kind::state) in.state = number[in.state];
    }
    for (WriteBack& w : f.writebacks) {
      if (w.target == WriteBack::Target::state) w.index = number[w.index];
    }
  }
  remove_dead_code(program);  // renumbers values: those of the removed inputs are gone
}

}  // namespace tern
