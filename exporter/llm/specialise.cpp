#include "exporter/llm/specialise.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <unordered_map>
#include <utility>
#include <variant>

namespace tern {
namespace {

class Replacement {
 public:
  explicit Replacement(Program& program) : program_(program) {}

  void replace(int symbol, Dim by) { symbols_[symbol] = by; }

  std::uint32_t copy(std::uint32_t number, const std::string& name) {
    const auto known = functions_.find(number);
    if (known != functions_.end()) return known->second;
    Function f = program_.functions[number];
    f.name = name;
    name_ = name;
    for (const Node& n : f.nodes) rename_bound(n);
    replace_in(f);
    for (Node& n : f.nodes) {
      for (std::uint32_t& body : n.functions) body = copy(body, name + "." + program_.functions[body].name);
    }
    program_.functions.push_back(std::move(f));
    const auto made = static_cast<std::uint32_t>(program_.functions.size() - 1);
    functions_.emplace(number, made);
    return made;
  }

  void replace_in(Function& f) {
    for (Value& v : f.values) {
      for (Dim& d : v.type.shape) d = of(d);
    }
    std::erase_if(f.nodes, [this](const Node& n) { return is_settled(n); });
    for (Node& n : f.nodes) {
      for (Attr& a : n.attrs) {
        if (auto* dims = std::get_if<Dims>(&a.data)) {
          for (Dim& d : *dims) d = of(d);
        }
      }
    }
  }

  void replace_in(std::uint32_t number) {
    if (!functions_.emplace(number, number).second) return;
    replace_in(program_.functions[number]);
    for (const Node& n : program_.functions[number].nodes) {
      for (const std::uint32_t body : n.functions) replace_in(body);
    }
  }

 private:
  /// True for a relation between inputs settled by the new sizes. Tracing assumes a size different from another, mostly
  /// 1, for broadcasting: ops decide again.
  bool is_settled(const Node& n) {
    if (n.op != Op::assert_dim || !n.has(AttrKey::sizes)) return false;
    const Dim before = n.dim(AttrKey::dim), condition = of(before);
    if (!condition.is_const() || before.is_const()) return false;
    const std::vector<ExprNode>& nodes = program_.pool.nodes();
    const ExprNode& relation = nodes[before.index()];
    const bool differs = relation.op == ExprOp::logical_not && nodes[relation.a].op == ExprOp::eq;
    if (condition.is(0) && !differs)
      fail(ErrorCode::unsupported,
           fmt::format(
               "the program assumes {}, which does not hold for the sizes of '{}'; trace it with sizes like these",
               n.text(AttrKey::text), name_));
    return true;
  }

  void rename_bound(const Node& n) {
    if (!n.has(AttrKey::symbols)) return;
    for (const Dim d : n.dims(AttrKey::symbols)) {
      const int symbol = program_.pool.symbol_of(d);
      if (symbol < 0) continue;
      const Symbol s = program_.pool.symbols()[static_cast<std::size_t>(symbol)];
      symbols_[symbol] = program_.pool.new_symbol(s.name, s.min, s.max);
    }
  }

  Dim of(Dim d) {
    if (d.is_const()) return d;
    const auto known = dims_.find(d.index());
    if (known != dims_.end()) return known->second;
    const Dim made = make(program_.pool.nodes()[d.index()], d);
    dims_.emplace(d.index(), made);
    return made;
  }

  Dim make(const ExprNode n, Dim self) {  // a copy: the pool grows
    ExprPool& p = program_.pool;
    if (n.op == ExprOp::constant) return self;
    if (n.op == ExprOp::symbol) {
      const auto found = symbols_.find(static_cast<int>(n.value));
      return found == symbols_.end() ? self : found->second;
    }
    const int operands = operand_count(n.op);
    const Dim a = of(Dim::node(n.a)), b = operands > 1 ? of(Dim::node(n.b)) : Dim(0),
              c = operands > 2 ? of(Dim::node(n.c)) : Dim(0);
    switch (n.op) {
      case ExprOp::add: return p.add(a, b);
      case ExprOp::mul: return p.mul(a, b);
      case ExprOp::floordiv: return p.floordiv(a, b);
      case ExprOp::mod: return p.mod(a, b);
      case ExprOp::min: return p.min(a, b);
      case ExprOp::max: return p.max(a, b);
      case ExprOp::eq: return p.eq(a, b);
      case ExprOp::ne: return p.ne(a, b);
      case ExprOp::lt: return p.lt(a, b);
      case ExprOp::le: return p.le(a, b);
      case ExprOp::logical_and: return p.logical_and(a, b);
      case ExprOp::logical_or: return p.logical_or(a, b);
      case ExprOp::logical_not: return p.logical_not(a);
      case ExprOp::select: return p.select(a, b, c);
      case ExprOp::pow: return p.pow(a, b);
      case ExprOp::shl:
      case ExprOp::shr: return p.shift(n.op, a, b);
      case ExprOp::bit_and:
      case ExprOp::bit_or:
      case ExprOp::bit_xor: return p.bitwise(n.op, a, b);
      case ExprOp::constant:
      case ExprOp::symbol: return self;
      default: return p.real(n.op, a, b);
    }
  }

  Program& program_;
  std::string name_ = "forward";  ///< the function, for messages
  std::unordered_map<int, Dim> symbols_;
  std::unordered_map<std::uint32_t, std::uint32_t>
      functions_;  ///< done, and their copies: bodies may be run by several nodes
  std::unordered_map<std::uint32_t, Dim> dims_;
};

}  // namespace

std::uint32_t specialise(Program& program, std::uint32_t function, int symbol, std::int64_t value,
                         const std::string& name) {
  Replacement r(program);
  r.replace(symbol, value);
  return r.copy(function, name);
}

void replace_symbol(Program& program, std::uint32_t function, int symbol, Dim size) {
  Replacement r(program);
  r.replace(symbol, size);
  r.replace_in(function);
}

}  // namespace tern
