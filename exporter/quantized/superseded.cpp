#include "exporter/quantized/superseded.h"

#include <algorithm>
#include <set>
#include <vector>

#include "schema/passes/dead_code.h"
#include "schema/passes/unread_states.h"

namespace tern {
namespace {

std::vector<std::int64_t> sizes_of(const State& s) {
  std::vector<std::int64_t> sizes;
  for (Dim d : s.type.shape) sizes.push_back(d.value());
  return sizes;
}

std::vector<bool> read_states(const Program& program) {
  std::vector<bool> read(program.states.size());
  for (const Function& f : program.functions) {
    std::set<ValueId> used;
    for (const Node& n : f.nodes) used.insert(n.inputs.begin(), n.inputs.end());
    for (const FunctionOutput& o : f.outputs) used.insert(o.value);
    for (const WriteBack& w : f.writebacks) used.insert(w.value);
    for (const FunctionInput& in : f.inputs) {
      if (in.kind == FunctionInput::Kind::state && used.contains(in.value)) read[in.state] = true;
    }
  }
  return read;
}

}  // namespace

void remove_superseded_weights(Program& program) {
  constexpr std::size_t kLeastRank = 2;  // biases stay
  const std::vector<bool> read = read_states(program);
  std::set<std::vector<std::int64_t>> narrow;
  for (std::size_t i = 0; i < program.states.size(); ++i) {
    const State& s = program.states[i];
    if (read[i] && (s.type.quantized() || element_size(s.type.dtype) == 1)) narrow.insert(sizes_of(s));
  }
  std::vector<bool> superseded(program.states.size());
  bool any = false;
  for (std::size_t i = 0; i < program.states.size(); ++i) {
    const State& s = program.states[i];
    const bool wide = !s.type.quantized() && is_floating(s.type.dtype) && element_size(s.type.dtype) > 1;
    superseded[i] =
        !read[i] && wide && !s.is_mutable && s.type.shape.size() >= kLeastRank && narrow.contains(sizes_of(s));
    any = any || superseded[i];
  }
  if (!any) return;
  remove_unread_states(program, superseded);
  remove_dead_code(program);  // renumbers values without the removed inputs
}

}  // namespace tern
