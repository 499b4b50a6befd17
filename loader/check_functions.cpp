// Structure of functions: every rule independent of the meaning of ops.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "loader/rules.h"
#include "schema/op_record.h"

namespace tern {
namespace {

/// Checks one function; tracks the values defined so far.
class FunctionRules {
 public:
  FunctionRules(const Checked& c, std::size_t number)
      : c_(c), number_(number), f_(c.program.functions[number]), defined_(f_.values.size()) {}

  void check() {
    for (std::size_t v = 0; v < f_.values.size(); ++v) {
      const std::string problem = check_type(f_.values[v].type);
      if (!problem.empty()) c_.function("values.type", number_, fmt::format("value {}: {}", v, problem));
    }
    for (std::size_t i = 0; i < f_.inputs.size(); ++i) check_input(i);
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) check_node(i);
    for (std::size_t i = 0; i < f_.outputs.size(); ++i) check_output(i);
    std::vector<std::pair<int, std::uint32_t>> targets;
    for (std::size_t i = 0; i < f_.writebacks.size(); ++i) {
      check_writeback(i);
      targets.emplace_back(static_cast<int>(f_.writebacks[i].target), f_.writebacks[i].index);
    }
    std::ranges::sort(targets);
    if (std::ranges::adjacent_find(targets) != targets.end()) {
      c_.function("writebacks.once", number_, "it writes back the same state or input twice");
    }
  }

 private:
  bool exists(ValueId v) const { return v >= 0 && static_cast<std::size_t>(v) < f_.values.size(); }
  bool defined(ValueId v) const { return exists(v) && defined_[static_cast<std::size_t>(v)]; }
  const TensorType& type(ValueId v) const { return f_.values[static_cast<std::size_t>(v)].type; }

  /// Marks `v` as defined. Returns the reason for a violation, else an empty string.
  std::string define(ValueId v) {
    if (!exists(v)) return fmt::format("value {} does not exist; there are {}", v, f_.values.size());
    if (defined_[static_cast<std::size_t>(v)]) return fmt::format("value {} is defined already", v);
    defined_[static_cast<std::size_t>(v)] = true;
    return {};
  }
  std::string unusable(ValueId v) const {
    if (!exists(v)) return fmt::format("value {} does not exist; there are {}", v, f_.values.size());
    if (!defined(v)) return fmt::format("value {} is read before it is defined", v);
    return {};
  }

  void check_input(std::size_t i) {
    const FunctionInput& in = f_.inputs[i];
    if (in.kind == FunctionInput::Kind::none) {
      if (in.value != kNoValue) c_.input("inputs.value", number_, i, "an input that is not read has a value");
      return;
    }
    const std::string problem = define(in.value);
    if (!problem.empty()) return c_.input("inputs.value", number_, i, problem);
    if (in.kind == FunctionInput::Kind::user && f_.entry && type(in.value).quantized())
      c_.input("inputs.mx", number_, i, "a caller's tensor cannot hold the scales of a quantized value");
    if (in.kind != FunctionInput::Kind::state) return;
    if (in.state >= c_.program.states.size()) {
      return c_.input("inputs.state", number_, i,
                      fmt::format("state {} does not exist; there are {}", in.state, c_.program.states.size()));
    }
    const State& s = c_.program.states[in.state];
    if (!(s.type == type(in.value))) {
      c_.input("inputs.state", number_, i,
               fmt::format("it is {}, but state '{}' is {}", text_of(type(in.value), c_.program.pool), s.name,
                           text_of(s.type, c_.program.pool)));
    }
  }

  void check_output(std::size_t i) {
    const FunctionOutput& out = f_.outputs[i];
    if (out.kind == FunctionOutput::Kind::none) {
      if (out.value != kNoValue) c_.output("outputs.value", number_, i, "None has a value");
      return;
    }
    const std::string problem = unusable(out.value);
    if (!problem.empty()) return c_.output("outputs.value", number_, i, problem);
    if (f_.entry && type(out.value).quantized())
      c_.output("outputs.mx", number_, i, "a result for the caller cannot hold the scales of a quantized value");
    if (out.kind != FunctionOutput::Kind::tensor && type(out.value).rank() != 0) {
      c_.output("outputs.number", number_, i, fmt::format("a number is {}", text_of(type(out.value), c_.program.pool)));
    }
  }

  void check_writeback(std::size_t i) {
    const WriteBack& w = f_.writebacks[i];
    const std::string problem = unusable(w.value);
    if (!problem.empty()) return c_.writeback("writebacks.value", number_, i, problem);
    if (!f_.entry) return c_.writeback("writebacks.entry", number_, i, "only an entry function can write back");
    const TensorType* target = nullptr;
    if (w.target == WriteBack::Target::state) {
      if (w.index >= c_.program.states.size()) {
        return c_.writeback("writebacks.target", number_, i, fmt::format("state {} does not exist", w.index));
      }
      const State& s = c_.program.states[w.index];
      if (!s.is_mutable)
        c_.writeback("writebacks.target", number_, i, fmt::format("state '{}' is not mutable", s.name));
      target = &s.type;
    } else {
      if (w.index >= f_.inputs.size() || f_.inputs[w.index].kind != FunctionInput::Kind::user ||
          !exists(f_.inputs[w.index].value)) {
        return c_.writeback("writebacks.target", number_, i,
                            fmt::format("input {} is not a tensor of the caller", w.index));
      }
      target = &type(f_.inputs[w.index].value);
    }
    const TensorType& t = type(w.value);
    const bool same_type = t.dtype == target->dtype && t.rank() == target->rank() && t.blocks == target->blocks;
    bool sizes = same_type;
    for (std::size_t k = 0; same_type && k < t.shape.size(); ++k) {
      sizes = sizes && (!t.shape[k].is_const() || !target->shape[k].is_const() || t.shape[k] == target->shape[k]);
    }
    if (!sizes) {
      c_.writeback("writebacks.type", number_, i,
                   fmt::format("{} is written to {}", text_of(t, c_.program.pool), text_of(*target, c_.program.pool)));
    }
  }

  void check_node(std::size_t i) {
    const Node& n = f_.nodes[i];
    const auto add_finding = [&](const char* rule, std::string message, ErrorCode code = ErrorCode::bad_file) {
      c_.node(rule, number_, i, std::move(message), code);
    };
    const OpRecord& info = op_record(n.op);
    if (info.op == Op::invalid) {
      add_finding("nodes.op", fmt::format("op {} is not known to this version", static_cast<int>(n.op)),
                  ErrorCode::unsupported);
    } else if (n.version > info.version || n.version < 1) {
      add_finding("nodes.version",
                  fmt::format("it has version {} of the op, but this build knows 1 to {}", n.version, info.version),
                  ErrorCode::unsupported);
    }
    for (ValueId v : n.inputs) {
      if (v == kNoValue) continue;
      const std::string problem = unusable(v);
      if (!problem.empty()) add_finding("nodes.inputs", problem);
    }
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      if (n.outputs[k] == kNoValue) {
        if (!may_be_absent(n, k)) add_finding("nodes.absent", fmt::format("result {} of this op cannot be absent", k));
        continue;
      }
      const std::string problem = define(n.outputs[k]);
      if (!problem.empty()) add_finding("nodes.outputs", problem);
    }
    if (info.op != Op::invalid && info.outputs >= 0 && n.outputs.size() != static_cast<std::size_t>(info.outputs)) {
      add_finding("nodes.outputs", fmt::format("it has {} results, but the op has {}", n.outputs.size(), info.outputs));
    }
    for (std::uint32_t body : n.functions) {
      if (body >= c_.program.functions.size()) {
        add_finding("nodes.functions",
                    fmt::format("function {} does not exist; there are {}", body, c_.program.functions.size()));
      } else if (!c_.program.functions[body].writebacks.empty()) {
        add_finding("nodes.functions",
                    fmt::format("function '{}' writes back, so a node cannot run it", c_.program.functions[body].name));
      }
    }
    if (info.op != Op::invalid && n.functions.size() != static_cast<std::size_t>(info.bodies)) {
      add_finding("nodes.functions",
                  fmt::format("it has {} bodies, but the op has {}", n.functions.size(), info.bodies));
    }
    if (n.op != Op::pointwise && !n.expr.code.empty())
      add_finding("nodes.code", "only a pointwise node has an expression");
    if (n.expr.code.size() > kMaxInstructions) {
      add_finding("nodes.code",
                  fmt::format("{} instructions; at most {} are allowed", n.expr.code.size(), kMaxInstructions));
    }
    if (n.origin < -1 || n.origin >= static_cast<std::int64_t>(c_.program.origins.size())) {
      add_finding("nodes.origin",
                  fmt::format("origin {} does not exist; there are {}", n.origin, c_.program.origins.size()));
    }
    for (std::size_t a = 0; a < n.attrs.size(); ++a) {
      const AttrKey key = n.attrs[a].key;
      if (attr_name(key) == "unknown") {
        add_finding("attributes.key", fmt::format("attribute {} is not known to this version", static_cast<int>(key)),
                    ErrorCode::unsupported);
      }
      const auto* symbols = key == AttrKey::symbols ? std::get_if<Dims>(&n.attrs[a].data) : nullptr;
      const auto is_symbol = [&](Dim d) { return c_.program.pool.symbol_of(d) >= 0; };
      if (symbols != nullptr && !std::ranges::all_of(*symbols, is_symbol)) {
        add_finding("symbols.node", "attribute 'symbols' must list symbols");
      }
      for (std::size_t b = 0; b < a && a < 256; ++b) {
        if (n.attrs[b].key == key)
          add_finding("attributes.once", fmt::format("attribute '{}' occurs twice", attr_name(key)));
      }
    }
    if (n.attrs.size() > 256) add_finding("attributes.count", fmt::format("{} attributes", n.attrs.size()));
  }

  const Checked& c_;
  std::size_t number_;
  const Function& f_;
  std::vector<bool> defined_;
};

}  // namespace

bool may_be_absent(const Node& node, std::size_t k) {
  const OpRecord& record = op_record(node.op);
  if (record.op == Op::invalid || record.has_trait(Trait::may_be_unread)) return true;
  if (find_attribute(node.op, AttrKey::carried) != nullptr) {  // carried values are stored in their results
    const AttrData* data = node.find(AttrKey::carried);
    const Dims* carried = data == nullptr ? nullptr : std::get_if<Dims>(data);
    return carried != nullptr && carried->size() == 1 && (*carried)[0].is_const() &&
           static_cast<std::int64_t>(k) >= (*carried)[0].value();
  }
  if (is_needed_result(record, k)) return false;
  // A result among several may be absent if another result is wanted.
  return std::ranges::any_of(node.outputs, [](ValueId v) { return v != kNoValue; });
}

namespace {

/// A collective started asynchronously writes its result until a wait: no other node may read the result before.
void check_pending(const Checked& c, std::size_t number, const Function& f) {
  enum class ValueState : std::uint8_t { plain, pending, awaited };
  std::vector<ValueState> values(f.values.size(), ValueState::plain);
  std::unordered_map<ValueId, ValueId> pending_operands;  // operand read by a pending collective, keyed by the result
  const auto state_of = [&](ValueId v) -> ValueState* {
    return v >= 0 && static_cast<std::size_t>(v) < values.size() ? &values[static_cast<std::size_t>(v)] : nullptr;
  };
  const auto add_finding = [&](const char* what) { c.function("functions.pending", number, what); };
  const auto starts = [](const Node& n) {
    const AttrData* mode = n.op == Op::collective ? n.find(AttrKey::mode) : nullptr;
    const Dims* dims = mode == nullptr ? nullptr : std::get_if<Dims>(mode);
    return dims != nullptr && dims->size() == 1 && (*dims)[0].is_const() && (*dims)[0].value() != 0;
  };
  for (const Node& n : f.nodes) {
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      ValueState* const v = state_of(n.inputs[k]);
      if (v == nullptr || *v == ValueState::plain) continue;
      if (n.op != Op::wait || k != 0) add_finding("a node reads a collective's result before a wait");
      if (k == 0 && std::find(n.inputs.begin() + 1, n.inputs.end(), pending_operands[n.inputs[0]]) == n.inputs.end())
        add_finding("a wait does not keep what its collective reads");
      *v = ValueState::awaited;
    }
    if (!starts(n)) continue;
    if (n.outputs.size() == 1) {
      if (ValueState* const v = state_of(n.outputs[0])) *v = ValueState::pending;
      pending_operands[n.outputs[0]] = n.inputs.empty() ? kNoValue : n.inputs[0];
    }
  }
  for (const FunctionOutput& o : f.outputs) {
    if (const ValueState* v = state_of(o.value); v != nullptr && *v != ValueState::plain)
      add_finding("a collective's result is given out before a wait");
  }
  for (const WriteBack& w : f.writebacks) {
    if (const ValueState* v = state_of(w.value); v != nullptr && *v != ValueState::plain)
      add_finding("a collective's result is kept before a wait");
  }
  if (std::ranges::find(values, ValueState::pending) != values.end())
    add_finding("a collective starts, but no wait ends it");
}

}  // namespace

void check_functions(const Checked& c) {
  std::unordered_set<std::string_view> entries;
  for (std::size_t i = 0; i < c.program.functions.size(); ++i) {
    const Function& f = c.program.functions[i];
    FunctionRules(c, i).check();
    check_pending(c, i, f);
    if (!f.entry) continue;
    if (f.name.empty()) c.function("functions.name", i, "an entry function has no name");
    if (!entries.insert(f.name).second) c.function("functions.name", i, "two entry functions have the same name");
  }
}

}  // namespace tern
