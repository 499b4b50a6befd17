#include <algorithm>
#include <set>
#include <vector>

#include "exporter/passes/passes.h"
#include "schema/passes/unread_states.h"

namespace tern {
namespace {

std::vector<std::int64_t> sizes_of(const State& s) {
  std::vector<std::int64_t> sizes;
  for (Dim d : s.type.shape) sizes.push_back(d.value());
  return sizes;
}

}  // namespace

void remove_superseded_weights(Program& program) {
  constexpr std::size_t kLeastRank = 2;  // biases stay
  const std::vector<bool> is_read = read_states(program);
  std::set<std::vector<std::int64_t>> narrow_shapes;
  for (std::size_t i = 0; i < program.states.size(); ++i) {
    const State& s = program.states[i];
    if (is_read[i] && (s.type.quantized() || element_size(s.type.dtype) == 1)) narrow_shapes.insert(sizes_of(s));
  }
  std::vector<bool> superseded(program.states.size());
  bool any_superseded = false;
  for (std::size_t i = 0; i < program.states.size(); ++i) {
    const State& s = program.states[i];
    const bool is_wide = !s.type.quantized() && is_floating(s.type.dtype) && element_size(s.type.dtype) > 1;
    superseded[i] = !is_read[i] && is_wide && !s.is_mutable && s.type.shape.size() >= kLeastRank &&
                    narrow_shapes.contains(sizes_of(s));
    any_superseded = any_superseded || superseded[i];
  }
  if (!any_superseded) return;
  remove_unread_states(program, superseded);
}

}  // namespace tern
