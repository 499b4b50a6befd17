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
        bool effect = has_effect(n);
        for (std::uint32_t body : n.functions) effect = effect || (body < result.size() && result[body]);
        if (effect) {
          result[f] = changed = true;
          break;
        }
      }
    }
  }
  return result;
}

void mark(std::vector<bool>& set, ValueId v) {
  if (v != kNoValue) set[static_cast<std::size_t>(v)] = true;
}

void clean(Function& f, const std::vector<bool>& effects) {
  std::vector<bool> needed(f.values.size());
  for (const FunctionOutput& o : f.outputs) mark(needed, o.value);
  for (const WriteBack& w : f.writebacks) mark(needed, w.value);
  std::vector<bool> keep(f.nodes.size());
  for (std::size_t i = f.nodes.size(); i-- > 0;) {
    const Node& n = f.nodes[i];
    keep[i] = has_effect(n);
    for (std::uint32_t body : n.functions) keep[i] = keep[i] || effects[body];
    for (ValueId v : n.outputs) keep[i] = keep[i] || (v != kNoValue && needed[static_cast<std::size_t>(v)]);
    if (!keep[i]) continue;
    for (ValueId v : n.inputs) mark(needed, v);
  }
  // Renumbers the remaining values.
  std::vector<bool> defined(f.values.size());
  for (const FunctionInput& in : f.inputs) mark(defined, in.value);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    if (!keep[i]) continue;
    Node& n = f.nodes[i];
    for (ValueId& v : n.outputs) {
      // Kernels skip the work for unused results, such as the positions of a pool's maxima.
      if (v != kNoValue && !needed[static_cast<std::size_t>(v)] && !has_effect(n) && n.functions.empty()) v = kNoValue;
      mark(defined, v);
    }
    if (kept != i) f.nodes[kept] = std::move(f.nodes[i]);
    ++kept;
  }
  f.nodes.resize(kept);
  std::vector<ValueId> number(f.values.size(), kNoValue);
  std::vector<Value> values;
  for (std::size_t v = 0; v < f.values.size(); ++v) {
    if (!defined[v]) continue;
    number[v] = static_cast<ValueId>(values.size());
    values.push_back(std::move(f.values[v]));
  }
  f.values = std::move(values);
  const auto renumber = [&number](ValueId& v) {
    if (v != kNoValue) v = number[static_cast<std::size_t>(v)];
  };
  for (FunctionInput& in : f.inputs) renumber(in.value);
  for (FunctionOutput& out : f.outputs) renumber(out.value);
  for (WriteBack& w : f.writebacks) renumber(w.value);
  for (Node& n : f.nodes) {
    for (ValueId& v : n.inputs) renumber(v);
    for (ValueId& v : n.outputs) renumber(v);
  }
}

}  // namespace

void remove_dead_code(Program& program) {
  const std::vector<bool> effects = functions_with_effects(program);
  for (Function& f : program.functions) clean(f, effects);
}

}  // namespace tern
