#include "exporter/import/sym_expr.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "schema/linear.h"
#include "schema/real_functions.h"

namespace tern::importing {
namespace {

using pt2::SymNode;
using pt2::SymOp;

/// numerator / denominator, the denominator positive; or a double, with its bits in the numerator.
struct Fraction {
  Dim num = 0, den = 1;
  bool is_real = false;
};

struct Inexpressible {
  std::string reason;
};

class Converter {
 public:
  Converter(ExprPool& pool, const pt2::SymExpr& expr, const SymbolLookup& symbol, Quotients quotients)
      : pool_(pool), expr_(expr), symbol_(symbol), doubles_(quotients == Quotients::doubles) {}

  Dim run() {
    for (const SymNode& n : expr_.nodes) values_.push_back(convert(n));
    return integer(values_.back(), "a fraction");
  }

 private:
  const Fraction& child(const SymNode& n, std::size_t i) const {
    const auto children = expr_.children_of(n);
    if (i >= children.size()) throw Inexpressible{"a function with too few arguments"};
    return values_[children[i]];
  }
  Dim dim(const SymNode& n, std::size_t i) { return integer(child(n, i), "a fraction"); }

  /// Converts a whole fraction: sympy writes s/2 only for s known to be even.
  Dim integer(const Fraction& f, const char* otherwise) {
    if (f.is_real) throw Inexpressible{otherwise};
    return f.den.is(1) ? f.num : pool_.floordiv(f.num, f.den);
  }

  static Fraction double_of(Dim bits) { return {bits, 1, true}; }
  Dim real(const Fraction& f) {
    if (f.is_real) return f.num;
    if (f.den.is(1))
      return f.num.is_const() ? ExprPool::real_constant(static_cast<double>(f.num.value()))
                              : pool_.real_node(ExprOp::to_real, f.num);
    return pool_.real_node(ExprOp::real_div, real(Fraction{f.num}), real(Fraction{f.den}));
  }
  Fraction real(ExprOp op, const Fraction& a, const Fraction& b) {
    return double_of(pool_.real_node(op, real(a), real(b)));
  }
  Dim function(RealFunction f, const Fraction& x) {
    return pool_.real_node(ExprOp::real_function, real(x), static_cast<std::int64_t>(f));
  }
  /// The function's result as an integer.
  Dim rounded(RealFunction f, const Fraction& x) { return pool_.real_node(ExprOp::real_to_int, function(f, x)); }

  Fraction reduced(Dim num, Dim den) {
    constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
    if (num.is(lowest) || den.is(lowest)) throw Inexpressible{"a number beyond 64 bits"};
    if (num.is_const() && den.is_const() && den.value() != 0) {
      const std::int64_t g = std::gcd(num.value(), den.value());
      const std::int64_t s = den.value() < 0 ? -g : g;
      return {num.value() / s, den.value() / s};
    }
    if (num == den) return {1, 1};
    if (den.is_const() && den.value() < 0) return {pool_.neg(num), -den.value()};
    return {num, den};
  }
  Fraction add(const Fraction& a, const Fraction& b) {
    if (a.is_real || b.is_real) return real(ExprOp::real_add, a, b);
    if (a.den == b.den) return reduced(pool_.add(a.num, b.num), a.den);
    return reduced(pool_.add(pool_.mul(a.num, b.den), pool_.mul(b.num, a.den)), pool_.mul(a.den, b.den));
  }
  Fraction mul(const Fraction& a, const Fraction& b) {
    if (a.is_real || b.is_real) return real(ExprOp::real_mul, a, b);
    return reduced(pool_.mul(a.num, b.num), pool_.mul(a.den, b.den));
  }
  Fraction divide(const Fraction& a, const Fraction& b) {
    if (a.is_real || b.is_real) throw Inexpressible{"a division of floating-point numbers"};
    return reduced(pool_.mul(a.num, b.den), pool_.mul(a.den, b.num));
  }
  Dim floor(const Fraction& f) {
    if (f.is_real) return rounded(RealFunction::floor, f);
    return f.den.is(1) ? f.num : pool_.floordiv(f.num, f.den);
  }
  Dim ceil(const Fraction& f) {
    if (f.is_real) return rounded(RealFunction::ceil, f);
    return f.den.is(1) ? f.num : pool_.ceildiv(f.num, f.den);
  }
  Dim trunc(const Fraction& f) {
    if (f.is_real) return rounded(RealFunction::trunc, f);
    if (f.den.is(1)) return f.num;
    if (pool_.bounds(f.num).min >= 0) return floor(f);
    return pool_.select(pool_.lt(f.num, 0), ceil(f), floor(f));
  }
  /// Half to even, as Python.
  Dim round(const Fraction& f) {
    if (f.is_real) return rounded(RealFunction::round, f);
    if (f.den.is(1)) return f.num;
    const Dim twice = pool_.mul(f.den, 2);
    const Dim rounded_up = pool_.floordiv(pool_.add(pool_.mul(f.num, 2), f.den), twice);
    const Dim tie = pool_.eq(pool_.mod(pool_.add(pool_.mul(f.num, 2), f.den), twice), 0);
    return pool_.sub(rounded_up, pool_.logical_and(tie, pool_.eq(pool_.mod(rounded_up, 2), 1)));
  }
  /// A double is a fraction of a power of two.
  Fraction real(double v) {
    if (doubles_) return double_of(ExprPool::real_constant(v));
    std::int64_t den = 1;
    while (v != std::floor(v) && den < (std::int64_t{1} << 20)) {
      v *= 2;
      den *= 2;
    }
    if (v != std::floor(v) || std::fabs(v) > 9e15) throw Inexpressible{"a floating-point number"};
    return {static_cast<std::int64_t>(v), den};
  }
  Fraction power(const SymNode& n) {
    const Fraction& base = child(n, 0);
    if (base.is_real || child(n, 1).is_real) return real(ExprOp::real_pow, base, child(n, 1));
    const Dim exponent = dim(n, 1);
    if (exponent.is_const() && exponent.value() < 0) {
      if (doubles_) return real(ExprOp::real_pow, base, child(n, 1));
      const Dim e = pool_.neg(exponent);
      return reduced(pool_.pow(base.den, e), pool_.pow(base.num, e));
    }
    return reduced(pool_.pow(base.num, exponent), pool_.pow(base.den, exponent));
  }
  Dim compare(const SymNode& n) {
    const Fraction &x = child(n, 0), &y = child(n, 1);
    if (x.is_real || y.is_real) return compare_reals(n.op, real(x), real(y));
    const Dim a = pool_.mul(x.num, y.den), b = pool_.mul(y.num, x.den);
    switch (n.op) {
      case SymOp::eq: return pool_.eq(a, b);
      case SymOp::ne: return pool_.ne(a, b);
      case SymOp::lt: return pool_.lt(a, b);
      case SymOp::le: return pool_.le(a, b);
      case SymOp::gt: return pool_.lt(b, a);
      default: return pool_.le(b, a);
    }
  }
  Dim bitwise(const SymNode& n) {
    const ExprOp op = n.op == SymOp::bitwise_and  ? ExprOp::bit_and
                      : n.op == SymOp::bitwise_or ? ExprOp::bit_or
                                                  : ExprOp::bit_xor;
    return pool_.bitwise(op, dim(n, 0), dim(n, 1));
  }
  Dim compare_reals(SymOp op, Dim a, Dim b) {
    switch (op) {
      case SymOp::eq: return pool_.real_node(ExprOp::real_eq, a, b);
      case SymOp::ne: return pool_.logical_not(pool_.real_node(ExprOp::real_eq, a, b));
      case SymOp::lt: return pool_.real_node(ExprOp::real_lt, a, b);
      case SymOp::le: return pool_.real_node(ExprOp::real_le, a, b);
      case SymOp::gt: return pool_.real_node(ExprOp::real_lt, b, a);
      default: return pool_.real_node(ExprOp::real_le, b, a);
    }
  }
  /// The smaller or the larger of two numbers.
  Fraction extreme(SymOp op, const Fraction& a, const Fraction& b) {
    if (!a.is_real && !b.is_real) {
      const Dim x = integer(a, ""), y = integer(b, "");
      return {op == SymOp::min ? pool_.min(x, y) : pool_.max(x, y)};
    }
    const Dim x = real(a), y = real(b);
    return double_of(
        pool_.select(pool_.real_node(ExprOp::real_lt, x, y), op == SymOp::min ? x : y, op == SymOp::min ? y : x));
  }
  Fraction choose(Dim condition, const Fraction& a, const Fraction& b) {
    if (a.is_real || b.is_real) return double_of(pool_.select(condition, real(a), real(b)));
    return {pool_.select(condition, integer(a, ""), integer(b, ""))};
  }
  Fraction unary(const SymNode& n) {
    const auto* const name = std::ranges::find(kRealFunctionNames, n.name);
    if (!doubles_ || name == std::end(kRealFunctionNames)) throw Inexpressible{n.name};
    return double_of(function(static_cast<RealFunction>(name - kRealFunctionNames), child(n, 0)));
  }
  Dim piecewise(const SymNode& n) {
    const std::size_t count = expr_.children_of(n).size();
    if (count < 2 || count % 2 != 0) throw Inexpressible{"Piecewise"};
    Dim result = dim(n, count - 2);
    for (std::size_t i = count - 2; i >= 2; i -= 2) result = pool_.select(dim(n, i - 1), dim(n, i - 2), result);
    return result;
  }
  bool all_whole(const SymNode& n) const {
    return std::ranges::all_of(expr_.children_of(n),
                               [&](std::uint32_t i) { return values_[i].den.is(1) && !values_[i].is_real; });
  }
  /// Sums whole numbers all at once; one by one is quadratic.
  Dim sum_of(const SymNode& n) {
    Dims terms;
    for (std::uint32_t i : expr_.children_of(n)) terms.push_back(values_[i].num);
    return sum(pool_, terms);
  }
  /// Folds two-operand functions over all children.
  template <class F>
  Dim fold(const SymNode& n, F f) {
    Dim result = dim(n, 0);
    for (std::size_t i = 1; i < expr_.children_of(n).size(); ++i) result = f(result, dim(n, i));
    return result;
  }

  Fraction convert(const SymNode& n) {
    switch (n.op) {
      case SymOp::integer: return {n.value, 1};
      case SymOp::boolean: return {n.value, 1};
      case SymOp::rational: return reduced(n.value, n.denominator);
      case SymOp::real: return real(n.real);
      case SymOp::symbol: return {symbol_(n), 1};
      case SymOp::add:
      case SymOp::mul: {
        if (n.op == SymOp::add && all_whole(n)) return {sum_of(n)};
        Fraction result = child(n, 0);
        for (std::size_t i = 1; i < expr_.children_of(n).size(); ++i) {
          result = n.op == SymOp::add ? add(result, child(n, i)) : mul(result, child(n, i));
        }
        return result;
      }
      case SymOp::min:
      case SymOp::max: {
        Fraction result = child(n, 0);
        for (std::size_t i = 1; i < expr_.children_of(n).size(); ++i) result = extreme(n.op, result, child(n, i));
        return result;
      }
      case SymOp::logical_and: return {fold(n, [&](Dim a, Dim b) { return pool_.logical_and(a, b); })};
      case SymOp::logical_or: return {fold(n, [&](Dim a, Dim b) { return pool_.logical_or(a, b); })};
      case SymOp::logical_not: return {pool_.logical_not(dim(n, 0))};
      case SymOp::pow:
      case SymOp::pow_by_natural: return power(n);
      case SymOp::float_pow:
        if (doubles_) return power(n);
        break;
      case SymOp::mod:
      case SymOp::python_mod: return {pool_.mod(dim(n, 0), dim(n, 1))};
      case SymOp::floor_div: return {floor(divide(child(n, 0), child(n, 1)))};
      case SymOp::clean_div: return {floor(divide(child(n, 0), child(n, 1)))};
      case SymOp::ceil_div: return {ceil(divide(child(n, 0), child(n, 1)))};
      case SymOp::int_true_div:
      case SymOp::float_true_div:
        if (doubles_) return real(ExprOp::real_div, child(n, 0), child(n, 1));
        return divide(child(n, 0), child(n, 1));
      case SymOp::to_float:
        if (doubles_) return double_of(real(child(n, 0)));
        return child(n, 0);
      case SymOp::identity: return child(n, 0);
      case SymOp::opaque_unary: return unary(n);
      case SymOp::ceil_to_int:
      case SymOp::ceiling: return {ceil(child(n, 0))};
      case SymOp::floor_to_int:
      case SymOp::floor: return {floor(child(n, 0))};
      case SymOp::trunc_to_int: return {trunc(child(n, 0))};
      case SymOp::trunc_to_float:
        if (doubles_) return double_of(function(RealFunction::trunc, child(n, 0)));
        return {trunc(child(n, 0))};
      case SymOp::round_to_int: return {round(child(n, 0))};
      case SymOp::round_decimal:
        if (!doubles_) break;
        return double_of(pool_.real_node(ExprOp::real_round, real(child(n, 0)), dim(n, 1)));
      case SymOp::infinity:
        if (!doubles_) break;
        return double_of(
            ExprPool::real_constant(static_cast<double>(n.value) * std::numeric_limits<double>::infinity()));
      case SymOp::abs: {
        if (child(n, 0).is_real) return double_of(function(RealFunction::abs, child(n, 0)));
        const Dim d = dim(n, 0);
        return {pool_.max(d, pool_.neg(d))};
      }
      case SymOp::where: return choose(dim(n, 0), child(n, 1), child(n, 2));
      case SymOp::piecewise: return {piecewise(n)};
      case SymOp::left_shift: return {pool_.shift(ExprOp::shl, dim(n, 0), dim(n, 1))};
      case SymOp::right_shift: return {pool_.shift(ExprOp::shr, dim(n, 0), dim(n, 1))};
      case SymOp::bitwise_and:
      case SymOp::bitwise_or:
      case SymOp::bitwise_xor: return {bitwise(n)};
      case SymOp::eq:
      case SymOp::ne:
      case SymOp::lt:
      case SymOp::le:
      case SymOp::gt:
      case SymOp::ge: return {compare(n)};
      case SymOp::modular_indexing: return {pool_.mod(pool_.floordiv(dim(n, 0), dim(n, 1)), dim(n, 2))};
      default: break;
    }
    throw Inexpressible{n.name.empty() ? "a function of other values than integers" : n.name};
  }

  ExprPool& pool_;
  const pt2::SymExpr& expr_;
  const SymbolLookup& symbol_;
  bool doubles_;
  std::vector<Fraction> values_;
};

}  // namespace

bool to_dim(ExprPool& pool, const pt2::SymExpr& expr, const SymbolLookup& symbol, Dim* result, std::string* obstacle,
            Quotients quotients) {
  try {
    *result = Converter(pool, expr, symbol, quotients).run();
    return true;
  } catch (const Inexpressible& e) {
    *obstacle = e.reason;
    return false;
  }
}

}  // namespace tern::importing
