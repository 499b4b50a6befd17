// Symbols are bound once and before use: by the sizes of an entry's inputs, or by a node's attribute `symbols`. Bodies
// see the symbols bound at their call.
#include <fmt/format.h>

#include <algorithm>

#include "loader/rules.h"
#include "schema/op_record.h"
#include "schema/work.h"

namespace tern {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kFromStart = -1;

class SymbolRules {
 public:
  explicit SymbolRules(const Checked& c)
      : c_(c),
        nodes_(c.program.pool.nodes()),
        stamps_(nodes_.size()),
        bound_(c.program.pool.symbols().size(), kNever) {}

  /// Visits bodies before the functions calling them.
  void check_all() {
    const auto& functions = c_.program.functions;
    free_symbols_.resize(functions.size());
    binds_.resize(functions.size());
    is_checked_.resize(functions.size());
    for (std::size_t i = 0; i < functions.size(); ++i) visit(i);
  }

 private:
  void visit(std::size_t f) {  // recursion depth is the nesting depth of functions, limited by check_calls
    if (is_checked_[f]) return;
    is_checked_[f] = true;
    for (const Node& n : c_.program.functions[f].nodes) {
      for (std::uint32_t body : n.functions) visit(body);
    }
    check(f);
  }

  void check(std::size_t number) {
    const Function& f = c_.program.functions[number];
    for (std::size_t s : bound_symbols_) bound_[s] = kNever;
    bound_symbols_.clear();
    ++stamp_;
    if (f.entry) {
      for (const FunctionInput& input : f.inputs) {
        if (input.kind != FunctionInput::Kind::user) continue;
        for (Dim d : f.values[static_cast<std::size_t>(input.value)].type.shape) {
          each_symbol(d, [&](std::size_t s) { bind_at(s, kFromStart); });
        }
      }
    }
    for (std::size_t i = 0; i < f.nodes.size(); ++i) bind(number, i);
    for (std::size_t i = 0; i < f.nodes.size(); ++i) {
      for (std::uint32_t body : f.nodes[i].functions) check_body_binds(number, i, body);
    }
    // Looks at each expression once: only the earliest use of a symbol matters.
    ++stamp_;
    std::vector<std::size_t>& missing = free_symbols_[number];
    const auto require_bound = [&](Dim d, std::int64_t node_time, std::size_t node) {
      each_symbol(d, [&](std::size_t s) {
        if (bound_[s] <= node_time) return;
        if (f.entry) {
          c_.node("symbols.bound", number, node,
                  fmt::format("symbol '{}' is used before it has a value", c_.program.pool.symbols()[s].name));
        } else if (bound_[s] == kNever) {
          missing.push_back(s);
        } else {
          c_.node("symbols.bound", number, node,
                  fmt::format("symbol '{}' is used before a later node gives it a value",
                              c_.program.pool.symbols()[s].name));
        }
      });
    };
    if (!f.entry) {
      for (const FunctionInput& input : f.inputs) {
        if (input.value == kNoValue) continue;
        for (Dim d : f.values[static_cast<std::size_t>(input.value)].type.shape) require_bound(d, kFromStart, 0);
      }
    }
    for (std::size_t i = 0; i < f.nodes.size(); ++i) {
      const Node& n = f.nodes[i];
      const auto node_time = static_cast<std::int64_t>(i);
      for (const Attr& a : n.attrs) {
        const auto* dims = std::get_if<Dims>(&a.data);
        if (dims == nullptr) continue;
        for (Dim d : *dims) require_bound(d, a.key == AttrKey::symbols ? node_time : node_time - 1, i);
      }
      for (ValueId v : n.outputs) {
        if (v == kNoValue) continue;
        for (Dim d : f.values[static_cast<std::size_t>(v)].type.shape) require_bound(d, node_time, i);
      }
      for (std::uint32_t body : n.functions) {
        charge_work(free_symbols_[body].size() * sizeof(std::size_t));
        for (std::size_t s : free_symbols_[body]) {
          if (bound_[s] < node_time || (!f.entry && bound_[s] == kNever)) {
            if (bound_[s] == kNever) missing.push_back(s);
            continue;
          }
          c_.node(
              "symbols.bound", number, i,
              fmt::format("its body needs symbol '{}', which has no value there", c_.program.pool.symbols()[s].name));
        }
      }
    }
    std::ranges::sort(missing);
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  }

  void bind_at(std::size_t symbol, std::int64_t node_time) {
    if (bound_[symbol] == kNever) bound_symbols_.push_back(symbol);
    bound_[symbol] = std::min(bound_[symbol], node_time);
  }

  /// Binds the symbols listed by the node; a symbol must not have a value before.
  void bind(std::size_t number, std::size_t i) {
    const Node& n = c_.program.functions[number].nodes[i];
    const AttrData* data = n.find(AttrKey::symbols);
    const Dims* dims = data == nullptr ? nullptr : std::get_if<Dims>(data);
    if (dims == nullptr || dims->empty()) return;
    if (!has_trait(n.op, Trait::data_sized))
      c_.node("symbols.node", number, i, "it determines no sizes, but lists symbols");
    for (Dim d : *dims) {
      const int s = c_.program.pool.symbol_of(d);
      if (s < 0) {
        c_.node("symbols.node", number, i, "attribute 'symbols' must list symbols");
        continue;
      }
      if (bound_[static_cast<std::size_t>(s)] != kNever) twice(number, i, static_cast<std::size_t>(s));
      bind_at(static_cast<std::size_t>(s), static_cast<std::int64_t>(i));
      binds_[number].push_back(static_cast<std::size_t>(s));
    }
  }

  /// A body starts with the symbols bound at its call and must not bind them again. A hostile file may hold any number
  /// of calls; beyond a limit, only the run detects violations.
  void check_body_binds(std::size_t number, std::size_t i, std::uint32_t body) {
    if (remaining_body_binds_ < binds_[body].size()) return;
    remaining_body_binds_ -= binds_[body].size();
    for (std::size_t s : binds_[body]) {
      if (bound_[s] < static_cast<std::int64_t>(i)) twice(number, i, s);
    }
  }

  void twice(std::size_t number, std::size_t i, std::size_t symbol) {
    c_.node("symbols.once", number, i,
            fmt::format("symbol '{}' already has a value", c_.program.pool.symbols()[symbol].name));
  }

  /// Calls `act` for the symbols of an expression, skipping parts visited since the last change of the stamp.
  template <class Act>
  void each_symbol(Dim d, Act act) {
    if (d.is_const()) return;
    worklist_.assign(1, d.index());
    while (!worklist_.empty()) {
      const std::uint32_t function_index = worklist_.back();
      worklist_.pop_back();
      if (stamps_[function_index] == stamp_) continue;
      stamps_[function_index] = stamp_;
      charge_work(4);
      const ExprNode& n = nodes_[function_index];
      if (n.op == ExprOp::symbol) {
        act(static_cast<std::size_t>(n.value));
        continue;
      }
      const std::uint32_t operands[] = {n.a, n.b, n.c};
      worklist_.insert(worklist_.end(), operands, operands + operand_count(n.op));
    }
  }

  const Checked& c_;
  const std::vector<ExprNode>& nodes_;
  std::vector<std::uint32_t> stamps_;
  std::uint32_t stamp_ = 0;
  std::vector<std::int64_t> bound_;         ///< keyed by symbol: the binding node
  std::vector<std::size_t> bound_symbols_;  ///< symbols with an entry in `bound_`
  std::vector<std::uint32_t> worklist_;
  std::vector<std::vector<std::size_t>> binds_;  ///< keyed by function: symbols bound by its nodes
  std::size_t remaining_body_binds_ = std::size_t{1} << 22;
  std::vector<std::vector<std::size_t>> free_symbols_;  ///< keyed by function: symbols to be bound by its callers
  std::vector<bool> is_checked_;
};

}  // namespace

void check_symbols(const Checked& c) {
  if (!c.program.pool.symbols().empty()) SymbolRules(c).check_all();
}

}  // namespace tern
