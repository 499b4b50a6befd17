#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>

#include "exporter/builder.h"
#include "exporter/optimizers/fit.h"
#include "exporter/optimizers/list_step.h"
#include "exporter/passes/passes.h"
#include "schema/def_use.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

using namespace optimizers;

/// Limit on different cones evaluated on numbers: a file may contain any number of them.
constexpr std::size_t kMostForms = 16;

/// Cones of one optimizer with equal options and types.
struct Group {
  Fit fit;
  std::vector<const Cone*> cones;
};

std::vector<Group> groups_of(const Function& f, const std::vector<Cone>& cones) {
  std::map<std::string, std::optional<Fit>> fit_cache;
  std::map<std::pair<std::string, ValueId>, Group> groups;
  for (const Cone& c : cones) {
    auto cached = fit_cache.find(c.form);
    if (cached == fit_cache.end() && fit_cache.size() == kMostForms) continue;
    if (cached == fit_cache.end()) cached = fit_cache.emplace(c.form, fit_cone(f, c)).first;
    if (!cached->second) continue;
    Group& g = groups[{c.form, c.lr}];
    g.fit = *cached->second;
    g.cones.push_back(&c);
  }
  std::vector<Group> list;
  for (auto& [key, g] : groups) list.push_back(std::move(g));
  return list;
}

ListStep step_of(const Group& g) {
  ListStep step{.kind = g.fit.kind, .hyper = g.fit.hyper, .mode = g.fit.mode, .lists = {}};
  constexpr OptimList kStates[] = {OptimList::m, OptimList::v, OptimList::third};
  for (const Cone* c : g.cones) {
    step[OptimList::param].push_back(c->param.old_value);
    step[OptimList::grad].push_back(c->grad);
    for (std::size_t i = 0; i < 3; ++i) {
      if (g.fit.states[i] >= 0)
        step[kStates[i]].push_back(c->states[static_cast<std::size_t>(g.fit.states[i])].old_value);
    }
    if (c->step.old_value != kNoValue) step[OptimList::step].push_back(c->step.old_value);
    if (c->product.old_value != kNoValue) step[OptimList::product].push_back(c->product.old_value);
  }
  std::vector<ValueId>&steps = step[OptimList::step], &products = step[OptimList::product];
  if (!steps.empty()) step.mode |= kOptimAdvance;
  const auto is_single_step = [](const std::vector<ValueId>& list) {
    return std::ranges::all_of(list, [&](ValueId v) { return v == list[0]; });
  };
  if (!steps.empty() && is_single_step(steps) && is_single_step(products)) {
    steps.resize(1);
    products.resize(std::min<std::size_t>(products.size(), 1));
  }
  if (g.cones[0]->lr != kNoValue) step[OptimList::lr] = {g.cones[0]->lr};
  return step;
}

/// Sorts nodes into an executable order close to the original; false if none exists.
bool order_nodes(Function& f) {
  const std::size_t n = f.nodes.size();
  const DefUse def_use(f);
  std::vector<std::size_t> waits(n);  // operands whose nodes are not in order yet
  for (std::size_t i = 0; i < n; ++i)
    waits[i] = static_cast<std::size_t>(
        std::ranges::count_if(f.nodes[i].inputs, [&](ValueId v) { return def_use.producer(v) >= 0; }));
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready_nodes;
  for (std::size_t i = 0; i < n; ++i) {
    if (waits[i] == 0) ready_nodes.push(i);
  }
  std::vector<Node> ordered;
  ordered.reserve(n);
  std::vector<std::size_t> order;
  while (!ready_nodes.empty()) {
    const std::size_t i = ready_nodes.top();
    ready_nodes.pop();
    order.push_back(i);
    for (const ValueId v : f.nodes[i].outputs) {
      for (const ValueReader& r : def_use.readers(v)) {
        if (--waits[r.node] == 0) ready_nodes.push(r.node);
      }
    }
  }
  if (order.size() != n) return false;
  for (std::size_t i : order) ordered.push_back(std::move(f.nodes[i]));
  f.nodes = std::move(ordered);
  return true;
}

/// Inserts the node in place of the nodes producing the new values; value numbers stay.
bool replace(Program& program, std::uint32_t function, const Group& g) {
  const Function original = program.functions[function];
  Builder b(program, function);
  const ListResults results = add_list_step(b, step_of(g));
  Function& f = program.functions[function];
  std::unordered_map<ValueId, ValueId> instead;  // maps the op's results to the original values
  const auto add_result = [&](OptimList list, std::size_t i, ValueId v) {
    const auto& values = results[static_cast<std::size_t>(list)];
    instead.emplace(values.at(std::min(i, values.size() - 1)), v);
  };
  constexpr OptimList kStates[] = {OptimList::m, OptimList::v, OptimList::third};
  for (std::size_t i = 0; i < g.cones.size(); ++i) {
    const Cone& c = *g.cones[i];
    add_result(OptimList::param, i, c.param.new_value);
    for (std::size_t k = 0; k < 3; ++k) {
      if (g.fit.states[k] >= 0)
        add_result(kStates[k], i, c.states[static_cast<std::size_t>(g.fit.states[k])].new_value);
    }
    if (c.step.old_value != kNoValue) add_result(OptimList::step, i, c.step.new_value);
    if (c.product.old_value != kNoValue) add_result(OptimList::product, i, c.product.new_value);
  }
  std::set<ValueId> replaced_values;
  for (const auto& [result, v] : instead) replaced_values.insert(v);
  Node step = std::move(f.nodes.back());
  f.nodes.pop_back();
  for (ValueId& v : step.outputs) {
    if (const auto found = instead.find(v); found != instead.end()) v = found->second;
  }
  std::erase_if(f.nodes, [&](const Node& n) {
    return n.op == Op::pointwise && n.outputs.size() == 1 && replaced_values.contains(n.outputs[0]);
  });
  f.nodes.push_back(std::move(step));
  if (order_nodes(f)) return true;
  program.functions[function] = original;
  return false;
}

/// The value that `v` is one more than, or kNoValue.
ValueId one_less(const Function& f, const DefUse& def_use, ValueId v) {
  const std::int64_t i = def_use.producer(v);
  if (i < 0) return kNoValue;
  const Node& n = f.nodes[static_cast<std::size_t>(i)];
  const std::vector<Instruction>& code = n.expr.code;
  if (n.op != Op::pointwise || n.inputs.size() != 1 || code.size() != 3 || code[2].op != Scalar::add) return kNoValue;
  const Instruction &a = code[code[2].a], &b = code[code[2].b];
  const bool adds_one = (a.op == Scalar::load && b.op == Scalar::constant && b.number == 1) ||
                        (b.op == Scalar::load && a.op == Scalar::constant && a.number == 1);
  return adds_one && is_floating(code[2].dtype) ? n.inputs[0] : kNoValue;
}

/// Fused optimizers read step counts incremented by the program: the op increments them itself, in place of a node per
/// parameter.
void count_steps_inside(Function& f) {
  const DefUse def_use(f);
  std::set<ValueId> counted;
  const std::vector<Node> original_nodes = f.nodes;
  for (Node& n : f.nodes) {
    if (n.op != Op::optim || n.dims(AttrKey::counts).empty() || (n.integer(AttrKey::mode) & kOptimAdvance) != 0)
      continue;
    const OptimLayout layout(n);
    // A skipped step (found_inf) leaves the op's count unchanged, but the program's advances and is corrected later.
    if (layout.has(OptimList::found_inf)) continue;
    std::vector<ValueId> steps, starts;
    for (std::size_t i = 0; i < layout.count(OptimList::step); ++i) {
      steps.push_back(n.inputs[layout.operand(OptimList::step, i)]);
      starts.push_back(one_less(f, def_use, steps.back()));
    }
    const std::set<ValueId> distinct(steps.begin(), steps.end());
    const bool all_found = std::ranges::none_of(starts, [](ValueId v) { return v == kNoValue; });
    if (steps.empty() || !all_found || distinct.size() != steps.size() ||
        std::ranges::any_of(steps, [&](ValueId v) { return counted.contains(v); }))
      continue;
    counted.insert(steps.begin(), steps.end());
    for (std::size_t i = 0; i < steps.size(); ++i) n.inputs[layout.operand(OptimList::step, i)] = starts[i];
    n.set(AttrKey::mode, Dims{Dim(n.integer(AttrKey::mode) | kOptimAdvance)});
    const OptimLayout advanced(n);
    n.outputs.insert(n.outputs.begin() + static_cast<std::ptrdiff_t>(advanced.result(OptimList::step, 0)),
                     steps.begin(), steps.end());
  }
  if (counted.empty()) return;
  std::erase_if(f.nodes, [&](const Node& n) {
    return n.op == Op::pointwise && n.outputs.size() == 1 && counted.contains(n.outputs[0]);
  });
  if (!order_nodes(f)) f.nodes = original_nodes;
}

}  // namespace

std::size_t recognise_optimizers(Program& program) {
  std::size_t count = 0;
  for (Function& f : program.functions) count_steps_inside(f);
  for (std::uint32_t i = 0; i < program.functions.size(); ++i) {
    if (!program.functions[i].entry || program.functions[i].writebacks.empty()) continue;
    const std::vector<Cone> cones = find_cones(program.functions[i]);
    for (const Group& g : groups_of(program.functions[i], cones)) {
      if (replace(program, i, g)) count += g.cones.size();
    }
  }
  if (count > 0) remove_dead_code(program);
  return count;
}

}  // namespace tern
