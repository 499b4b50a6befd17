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

  void replace(int symbol, Dim size) { symbols_[symbol] = size; }

  std::uint32_t copy_function(std::uint32_t function, const std::string& name) {
    const auto found = functions_.find(function);
    if (found != functions_.end()) return found->second;
    Function f = program_.functions[function];
    f.name = name;
    name_ = name;
    for (const Node& n : f.nodes) renew_bound_symbols(n);
    replace_in(f);
    for (Node& n : f.nodes) {
      for (std::uint32_t& body : n.functions) body = copy_function(body, name + "." + program_.functions[body].name);
    }
    program_.functions.push_back(std::move(f));
    const auto result = static_cast<std::uint32_t>(program_.functions.size() - 1);
    functions_.emplace(function, result);
    return result;
  }

  void replace_in(Function& f) {
    for (Value& v : f.values) {
      for (Dim& d : v.type.shape) d = substitute(d);
    }
    std::erase_if(f.nodes, [this](const Node& n) { return is_settled(n); });
    for (Node& n : f.nodes) {
      for (Attr& a : n.attrs) {
        if (auto* dims = std::get_if<Dims>(&a.data)) {
          for (Dim& d : *dims) d = substitute(d);
        }
      }
    }
  }

  void replace_in(std::uint32_t function) {
    if (!functions_.emplace(function, function).second) return;
    replace_in(program_.functions[function]);
    for (const Node& n : program_.functions[function].nodes) {
      for (const std::uint32_t body : n.functions) replace_in(body);
    }
  }

 private:
  /// True if `n` asserts a relation between inputs that the new sizes make constant. Fails if the
  /// relation is false, except for `!=`: tracing assumes sizes different from another, mostly 1, for broadcasting, and
  /// ops check such sizes themselves.
  bool is_settled(const Node& n) {
    if (n.op != Op::assert_dim || !n.has(AttrKey::sizes)) return false;
    const Dim original = n.dim(AttrKey::dim), condition = substitute(original);
    if (!condition.is_const() || original.is_const()) return false;
    const std::vector<ExprNode>& nodes = program_.pool.nodes();
    const ExprNode& relation = nodes[original.index()];
    const bool differs = relation.op == ExprOp::logical_not && nodes[relation.a].op == ExprOp::eq;
    if (condition.is(0) && !differs)
      fail(ErrorCode::unsupported,
           fmt::format(
               "the program assumes {}, which does not hold for the sizes of '{}'; trace it with sizes like these",
               n.text(AttrKey::text), name_));
    return true;
  }

  void renew_bound_symbols(const Node& n) {
    if (!n.has(AttrKey::symbols)) return;
    for (const Dim d : n.dims(AttrKey::symbols)) {
      const int symbol = program_.pool.symbol_of(d);
      if (symbol < 0) continue;
      const Symbol s = program_.pool.symbols()[static_cast<std::size_t>(symbol)];
      symbols_[symbol] = program_.pool.new_symbol(s.name, s.min, s.max);
    }
  }

  Dim substitute(Dim d) {
    if (d.is_const()) return d;
    const auto found = dims_.find(d.index());
    if (found != dims_.end()) return found->second;
    const Dim result = rebuild(program_.pool.nodes()[d.index()], d);
    dims_.emplace(d.index(), result);
    return result;
  }

  /// Builds expression `n` (`self`) with replaced symbols. Takes `n` by value: the pool's nodes move when it grows.
  Dim rebuild(const ExprNode n, Dim self) {
    ExprPool& pool = program_.pool;
    if (n.op == ExprOp::constant) return self;
    if (n.op == ExprOp::symbol) {
      const auto found = symbols_.find(static_cast<int>(n.value));
      return found == symbols_.end() ? self : found->second;
    }
    const int operands = operand_count(n.op);
    const Dim a = substitute(Dim::node(n.a)), b = operands > 1 ? substitute(Dim::node(n.b)) : Dim(0),
              c = operands > 2 ? substitute(Dim::node(n.c)) : Dim(0);
    switch (n.op) {
      case ExprOp::add: return pool.add(a, b);
      case ExprOp::mul: return pool.mul(a, b);
      case ExprOp::floordiv: return pool.floordiv(a, b);
      case ExprOp::mod: return pool.mod(a, b);
      case ExprOp::min: return pool.min(a, b);
      case ExprOp::max: return pool.max(a, b);
      case ExprOp::eq: return pool.eq(a, b);
      case ExprOp::ne: return pool.ne(a, b);
      case ExprOp::lt: return pool.lt(a, b);
      case ExprOp::le: return pool.le(a, b);
      case ExprOp::logical_and: return pool.logical_and(a, b);
      case ExprOp::logical_or: return pool.logical_or(a, b);
      case ExprOp::logical_not: return pool.logical_not(a);
      case ExprOp::select: return pool.select(a, b, c);
      case ExprOp::pow: return pool.pow(a, b);
      case ExprOp::shl:
      case ExprOp::shr: return pool.shift(n.op, a, b);
      case ExprOp::bit_and:
      case ExprOp::bit_or:
      case ExprOp::bit_xor: return pool.bitwise(n.op, a, b);
      case ExprOp::constant:
      case ExprOp::symbol: return self;
      default: return pool.real_node(n.op, a, b);
    }
  }

  Program& program_;
  std::string name_ = "forward";          ///< the function, for messages
  std::unordered_map<int, Dim> symbols_;  ///< symbol to its replacement
  std::unordered_map<std::uint32_t, std::uint32_t>
      functions_;  ///< function to its copy, or to itself once replaced in place: several nodes may run one body
  std::unordered_map<std::uint32_t, Dim> dims_;  ///< expression in the pool to its replacement
};

}  // namespace

std::uint32_t specialise(Program& program, std::uint32_t function, int symbol, Dim size, const std::string& name) {
  Replacement r(program);
  r.replace(symbol, size);
  return r.copy_function(function, name);
}

void replace_symbol(Program& program, std::uint32_t function, int symbol, Dim size) {
  Replacement r(program);
  r.replace(symbol, size);
  r.replace_in(function);
}

}  // namespace tern
