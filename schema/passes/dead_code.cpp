#include "schema/passes/dead_code.h"

#include <vector>

#include "schema/op_record.h"

namespace tern {
namespace {

bool has_effect(const Node& n) {
  return has_trait(n.op, Trait::effect) || n.has(AttrKey::symbols);
}

/// Marks functions that contain nodes with effects, themselves or in functions that they run.
std::vector<bool> functions_with_effects(const Program& program) {
  std::vector<bool> result(program.functions.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t f = 0; f < program.functions.size(); ++f) {
      if (result[f]) continue;
      for (const Node& n : program.functions[f].nodes) {
        bool found = has_effect(n);
        for (std::uint32_t body : n.functions) found = found || (body < result.size() && result[body]);
        if (found) {
          result[f] = changed = true;
          break;
        }
      }
    }
  }
  return result;
}

void mark(std::vector<bool>& marks, ValueId v) {
  if (v != kNoValue) marks[static_cast<std::size_t>(v)] = true;
}

/// Removes nodes without effects and read results, drops unread results of other nodes, and renumbers the values.
void remove_unneeded(Function& f, const std::vector<bool>& function_has_effect) {
  std::vector<bool> needed(f.values.size());
  for (const FunctionOutput& o : f.outputs) mark(needed, o.value);
  for (const WriteBack& w : f.writebacks) mark(needed, w.value);
  std::vector<bool> is_kept(f.nodes.size());
  for (std::size_t i = f.nodes.size(); i-- > 0;) {
    const Node& n = f.nodes[i];
    is_kept[i] = has_effect(n);
    for (std::uint32_t body : n.functions) is_kept[i] = is_kept[i] || function_has_effect[body];
    for (ValueId v : n.outputs) is_kept[i] = is_kept[i] || (v != kNoValue && needed[static_cast<std::size_t>(v)]);
    if (!is_kept[i]) continue;
    for (ValueId v : n.inputs) mark(needed, v);
  }
  // Renumbers the remaining values.
  std::vector<bool> defined(f.values.size());
  for (const FunctionInput& input : f.inputs) mark(defined, input.value);
  std::size_t kept_count = 0;
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    if (!is_kept[i]) continue;
    Node& n = f.nodes[i];
    for (ValueId& v : n.outputs) {
      // Kernels skip the work for unused results, such as the positions of a pool's maxima.
      if (v != kNoValue && !needed[static_cast<std::size_t>(v)] && !has_effect(n) && n.functions.empty()) v = kNoValue;
      mark(defined, v);
    }
    if (kept_count != i) f.nodes[kept_count] = std::move(f.nodes[i]);
    ++kept_count;
  }
  f.nodes.resize(kept_count);
  std::vector<ValueId> new_id(f.values.size(), kNoValue);
  std::vector<Value> values;
  for (std::size_t v = 0; v < f.values.size(); ++v) {
    if (!defined[v]) continue;
    new_id[v] = static_cast<ValueId>(values.size());
    values.push_back(std::move(f.values[v]));
  }
  f.values = std::move(values);
  const auto renumber = [&new_id](ValueId& v) {
    if (v != kNoValue) v = new_id[static_cast<std::size_t>(v)];
  };
  for (FunctionInput& input : f.inputs) renumber(input.value);
  for (FunctionOutput& out : f.outputs) renumber(out.value);
  for (WriteBack& w : f.writebacks) renumber(w.value);
  for (Node& n : f.nodes) {
    for (ValueId& v : n.inputs) renumber(v);
    for (ValueId& v : n.outputs) renumber(v);
  }
}

}  // namespace

void remove_dead_code(Program& program) {
  const std::vector<bool> function_has_effect = functions_with_effects(program);
  for (Function& f : program.functions) remove_unneeded(f, function_has_effect);
}

}  // namespace tern
