#include "exporter/llm/slots/over_texts.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "exporter/llm/slots/loop_body.h"
#include "exporter/llm/slots/rules.h"
#include "exporter/llm/slots/sized_groups.h"
#include "exporter/llm/slots/together.h"
#include "schema/def_use.h"
#include "schema/infer/control_types.h"
#include "schema/op_record.h"

namespace tern {
namespace {

void refuse_random(const Program& program, const Function& f) {
  for (const Node& n : f.nodes) {
    if (has_trait(n.op, Trait::random))
      fail(ErrorCode::invalid_argument,
           "--batch: the program draws random numbers, and a session's texts share one generator; export the model in "
           "evaluation mode");
    for (const std::uint32_t body : n.functions) refuse_random(program, program.functions[body]);
  }
}

class OverTexts : public SlotFunction, Operands {
 public:
  using SlotFunction::SlotFunction;

  void run() {
    refuse_random(program_, source_);
    add_inputs();
    find_rows();
    groups_ = find_sized_groups(program_, source_, varying());
    emitted_.resize(groups_.nodes.size());
    for (std::size_t g = 0; g < groups_.nodes.size(); ++g) emit(g);
    add_outputs();
  }

 private:
  // Implements Operands for the rules.
  const TensorType& type(ValueId v) const override { return source_type(v); }
  bool is_shared(ValueId v) const override {
    return locations_[static_cast<std::size_t>(v)].kind == ValueLocation::Kind::shared;
  }
  ValueId shared(ValueId v) override { return location(v).value; }
  Builder& builder() override { return b_; }
  Dim texts() const override { return options_.texts; }
  ValueId values_of(ValueId v) override { return values_of_texts(v); }

  Dims inner(const TensorType& type) const override {
    Dims sizes = type.shape;
    sizes.insert(sizes.begin(), options_.texts);
    return sizes;
  }

  ValueId values_of_texts(ValueId v) override {
    switch (location(v).kind) {
      case ValueLocation::Kind::per_text: return location(v).value;
      case ValueLocation::Kind::shared: return b_.expand(location(v).value, inner(source_type(v)));
      default: break;
    }
    const auto cached = read_values_.find(v);  // a slice of a cache, unchanged
    if (cached != read_values_.end()) return cached->second;
    return read_values_[v] = loop({}, {v}).front();
  }

  std::vector<bool> varying() {
    std::vector<bool> varies(source_.values.size());
    for (std::size_t v = 0; v < varies.size(); ++v)
      varies[v] =
          locations_[v].kind == ValueLocation::Kind::per_text || locations_[v].kind == ValueLocation::Kind::slots;
    for (const Node& n : source_.nodes) {
      const bool any_varies = std::ranges::any_of(
          n.inputs, [&](ValueId v) { return v != kNoValue && varies[static_cast<std::size_t>(v)]; });
      for (const ValueId v : n.outputs) {
        if (v != kNoValue && any_varies) varies[static_cast<std::size_t>(v)] = true;
      }
    }
    return varies;
  }

  /// Row of each slot's text in this run, or -1.
  void find_rows() {
    rows_ =
        b_.add(Op::index_put, {b_.full({options_.slots}, -1, DType::i64), b_.iota(options_.texts, DType::i64), slot_});
  }

  /// Adds groups, operands first: a group may enclose nodes reading its results.
  void emit(std::size_t g) {
    if (emitted_[g]) return;
    emitted_[g] = true;
    for (const std::size_t i : add_sources(groups_.nodes[g])) {
      for (const ValueId v : source_.nodes[i].inputs) {
        const std::int64_t p = def_use_.producer(v);
        if (p >= 0) emit(groups_.group[static_cast<std::size_t>(p)]);
      }
    }
    const std::vector<std::size_t>& nodes = groups_.nodes[g];
    if (groups_.sized[g]) return repeat(nodes);
    if (!groups_.is_item[nodes.front()]) emit_node(source_.nodes[nodes.front()], nodes.front());
  }

  void emit_node(const Node& n, std::size_t number) {
    const auto any_operand_at = [&](auto... kinds) {
      return std::ranges::any_of(n.inputs,
                                 [&](ValueId v) { return v != kNoValue && ((location(v).kind == kinds) || ...); });
    };
    const bool of_cache = any_operand_at(ValueLocation::Kind::slots, ValueLocation::Kind::view);
    if (!of_cache && !any_operand_at(ValueLocation::Kind::per_text)) return copy_shared(n);
    if (is_slots(n.inputs[0]) && n.op == Op::reshape) return reshape_slots(n);
    if (is_slots(n.inputs[0]) && n.op == Op::index_put) return update(n);
    if (of_cache && is_view(n.op)) return set(n, n.outputs, ValueLocation::Kind::view);
    if (of_cache || !apply_rule(n)) repeat({number});
  }

  void update(const Node& n) {
    std::vector<ValueId> indices;
    for (std::size_t i = 2; i < n.inputs.size(); ++i) indices.push_back(values_of_texts(n.inputs[i]));
    const int retained = rank(n.inputs[0]) - static_cast<int>(indices.size());
    update_slots(n, aligned(n.inputs[1], rank(n.inputs[2]) + retained), indices);
  }

  bool apply_rule(const Node& n) {
    const Rule rule = rule_of(n.op);
    if (rule == nullptr) return false;
    Node produced = n;
    produced.inputs.clear();
    if (!rule(*this, n, produced)) return false;
    const std::vector<ValueId> results = add(std::move(produced));
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i] == kNoValue) continue;
      if (b_.rank(results[i]) != rank(n.outputs[i]) + 1 || b_.shape(results[i])[0] != options_.texts)
        fail(ErrorCode::internal, fmt::format("the rule of {} for several texts infers another type", op_name(n.op)));
    }
    set(n, results, ValueLocation::Kind::per_text);
    return true;
  }

  /// The nodes, once for each text.
  void repeat(const std::vector<std::size_t>& nodes) {
    std::set<ValueId> produced;
    for (const std::size_t i : nodes) produced.insert(source_.nodes[i].outputs.begin(), source_.nodes[i].outputs.end());
    std::vector<ValueId> results;
    for (const ValueId v : produced) {
      if (v != kNoValue && is_read_outside(v, nodes)) results.push_back(v);
    }
    refuse_sizes(nodes, results);
    const std::vector<ValueId> values = loop(nodes, results);
    for (std::size_t i = 0; i < results.size(); ++i) location(results[i]) = {ValueLocation::Kind::per_text, values[i]};
  }

  void refuse_sizes(const std::vector<std::size_t>& nodes, const std::vector<ValueId>& results) {
    Dependence depends(program_.pool, groups_.symbols);
    for (const ValueId v : results) {
      if (std::ranges::none_of(source_type(v).shape, [&](Dim d) { return depends(d); })) continue;
      const Node& n = source_.nodes[nodes.front()];
      const std::string origin_text =
          n.origin < 0 ? "" : " from " + program_.origins[static_cast<std::size_t>(n.origin)].op;
      fail(ErrorCode::invalid_argument,
           fmt::format("--batch: {}{} makes sizes out of numbers of the text, such as its position, which differ from "
                       "text to text; let the model compute with tensors there",
                       op_name(n.op), origin_text));
    }
  }

  bool is_read_outside(ValueId v, const std::vector<std::size_t>& nodes) const {
    for (std::size_t i = 0; i < source_.nodes.size(); ++i) {
      if (!std::ranges::binary_search(nodes, i) &&
          std::ranges::find(source_.nodes[i].inputs, v) != source_.nodes[i].inputs.end())
        return true;
    }
    return std::ranges::any_of(source_.outputs, [&](const FunctionOutput& o) { return o.value == v; }) ||
           std::ranges::any_of(source_.writebacks, [&](const WriteBack& w) { return w.value == v; });
  }

  /// Adds the nodes giving sizes, and views: a body's operands are contiguous, so views of caches and of weights are
  /// made at their readers.
  std::vector<std::size_t> add_sources(const std::vector<std::size_t>& nodes, const std::vector<ValueId>& values = {}) {
    std::set<std::size_t> closure;
    std::vector<std::size_t> open(nodes);
    const auto open_producer = [&](ValueId v) {
      const std::int64_t p = def_use_.producer(v);
      if (p < 0) return;
      const auto producer = static_cast<std::size_t>(p);
      const bool view = is_view(source_.nodes[producer].op);
      if (view && (location(v).kind == ValueLocation::Kind::view || location(v).kind == ValueLocation::Kind::shared))
        open.push_back(producer);
    };
    for (const ValueId v : values) open_producer(v);
    while (!open.empty()) {
      const std::size_t i = open.back();
      open.pop_back();
      if (!closure.insert(i).second) continue;
      open.insert(open.end(), groups_.items[i].begin(), groups_.items[i].end());
      for (const ValueId v : source_.nodes[i].inputs) open_producer(v);
    }
    return {closure.begin(), closure.end()};
  }

  /// Runs the nodes for one text after another; returns `results` of all texts.
  std::vector<ValueId> loop(const std::vector<std::size_t>& nodes, const std::vector<ValueId>& results) {
    TextNodes t{&source_, add_sources(nodes, results), {}, {}, results};
    std::set<ValueId> inside, visited;
    for (const std::size_t i : t.nodes) inside.insert(source_.nodes[i].outputs.begin(), source_.nodes[i].outputs.end());
    std::vector<ValueId> read_values(results);
    for (const std::size_t i : t.nodes)
      read_values.insert(read_values.end(), source_.nodes[i].inputs.begin(), source_.nodes[i].inputs.end());
    bool caches = false;
    for (const ValueId v : read_values) {
      if (v == kNoValue || inside.contains(v) || !visited.insert(v).second) continue;
      const int state = is_shared(v) ? state_of(v) : -1;
      caches = caches || is_slots(v);
      if (state >= 0) {
        t.states.emplace_back(v, static_cast<std::uint32_t>(state));
      } else {
        t.operands.push_back(v);
      }
    }
    const auto mapped = [&](ValueId v) {
      return location(v).kind == (caches ? ValueLocation::Kind::slots : ValueLocation::Kind::per_text);
    };
    std::stable_partition(t.operands.begin(), t.operands.end(), mapped);
    const std::string name = fmt::format("{}.loop{}", b_.function().name, loops_++);
    return caches ? over_slots(t, mapped, name) : over_rows(t, mapped, name);
  }

  template <class Mapped>
  std::vector<ValueId> over_rows(const TextNodes& t, const Mapped& mapped, const std::string& name) {
    Node n;
    n.op = Op::map_loop;
    for (const ValueId v : t.operands) n.inputs.push_back(location(v).value);
    n.functions = {text_body(program_, name, t)};
    n.attrs = {attr(AttrKey::mapped, Dim(std::ranges::count_if(t.operands, mapped)))};
    if (t.nodes.size() == 1) {
      if (auto together = choose_together(b_, source_.nodes[t.nodes[0]], t.operands, n))
        return b_.add(std::move(*together));
    }
    return b_.add(std::move(n));
  }

  template <class Mapped>
  std::vector<ValueId> over_slots(const TextNodes& t, const Mapped& mapped, const std::string& name) {
    Node n;
    n.op = Op::map_loop;
    n.inputs = {rows_};
    std::vector<bool> in_rows;
    for (const ValueId v : t.operands) {
      n.inputs.push_back(location(v).value);
      in_rows.push_back(location(v).kind == ValueLocation::Kind::per_text);
    }
    n.functions = {slot_body(program_, name, t, in_rows, options_.texts)};
    n.attrs = {attr(AttrKey::mapped, Dim(1 + std::ranges::count_if(t.operands, mapped)))};
    std::vector<ValueId> values = b_.add(std::move(n));
    for (ValueId& v : values) v = b_.index_select(v, slot_, 0);
    return values;
  }

  int state_of(ValueId v) const {
    for (const FunctionInput& input : source_.inputs) {
      if (input.kind == FunctionInput::Kind::state && input.value == v) return static_cast<int>(input.state);
    }
    return -1;
  }

  SizedGroups groups_;
  const DefUse def_use_{source_};
  std::vector<bool> emitted_;
  std::unordered_map<ValueId, ValueId> read_values_;
  ValueId rows_ = kNoValue;
  int loops_ = 0;
};

}  // namespace

void run_over_texts(Program& program, std::uint32_t function, SlotOptions options) {
  OverTexts(program, function, std::move(options)).run();
}

}  // namespace tern
