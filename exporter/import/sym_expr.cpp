#include "exporter/import/sym_expr.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "schema/linear.h"

namespace tern::importing {
namespace {

using pt2::SymNode;
using pt2::SymOp;

/// numerator / denominator, the denominator positive.
struct Fraction {
  Dim num = 0, den = 1;
};

struct Inexpressible {
  std::string what;
};

class Converter {
 public:
  Converter(ExprPool& pool, const pt2::SymExpr& expr, const SymbolLookup& symbol)
      : pool_(pool), expr_(expr), symbol_(symbol) {}

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

  /// A fraction that must be whole: sympy writes s/2 only where it knows that 2 divides s.
  Dim integer(const Fraction& f, const char*) { return f.den.is(1) ? f.num : pool_.floordiv(f.num, f.den); }

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
    if (a.den == b.den) return reduced(pool_.add(a.num, b.num), a.den);
    return reduced(pool_.add(pool_.mul(a.num, b.den), pool_.mul(b.num, a.den)), pool_.mul(a.den, b.den));
  }
  Fraction mul(const Fraction& a, const Fraction& b) {
    return reduced(pool_.mul(a.num, b.num), pool_.mul(a.den, b.den));
  }
  Fraction divide(const Fraction& a, const Fraction& b) {
    return reduced(pool_.mul(a.num, b.den), pool_.mul(a.den, b.num));
  }
  Dim floor(const Fraction& f) { return f.den.is(1) ? f.num : pool_.floordiv(f.num, f.den); }
  Dim ceil(const Fraction& f) { return f.den.is(1) ? f.num : pool_.ceildiv(f.num, f.den); }
  Dim trunc(const Fraction& f) {
    if (f.den.is(1)) return f.num;
    if (pool_.bounds(f.num).min >= 0) return floor(f);
    return pool_.select(pool_.lt(f.num, 0), ceil(f), floor(f));
  }
  /// Half to even, as Python.
  Dim round(const Fraction& f) {
    if (f.den.is(1)) return f.num;
    const Dim twice = pool_.mul(f.den, 2);
    const Dim up = pool_.floordiv(pool_.add(pool_.mul(f.num, 2), f.den), twice);
    const Dim tie = pool_.eq(pool_.mod(pool_.add(pool_.mul(f.num, 2), f.den), twice), 0);
    return pool_.sub(up, pool_.logical_and(tie, pool_.eq(pool_.mod(up, 2), 1)));
  }
  /// A double is a fraction of a power of two.
  Fraction real(double v) {
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
    const Dim exponent = dim(n, 1);
    if (exponent.is_const() && exponent.value() < 0) {
      const Dim e = pool_.neg(exponent);
      return reduced(pool_.pow(base.den, e), pool_.pow(base.num, e));
    }
    return reduced(pool_.pow(base.num, exponent), pool_.pow(base.den, exponent));
  }
  Dim compare(const SymNode& n) {
    const Fraction &x = child(n, 0), &y = child(n, 1);
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
  Dim piecewise(const SymNode& n) {
    const std::size_t count = expr_.children_of(n).size();
    if (count < 2 || count % 2 != 0) throw Inexpressible{"Piecewise"};
    Dim result = dim(n, count - 2);
    for (std::size_t i = count - 2; i >= 2; i -= 2) result = pool_.select(dim(n, i - 1), dim(n, i - 2), result);
    return result;
  }
  bool all_whole(const SymNode& n) const {
    return std::ranges::all_of(expr_.children_of(n), [&](std::uint32_t i) { return values_[i].den.is(1); });
  }
  /// Of whole numbers: all at once, where one after the other is quadratic.
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
      case SymOp::min: return {fold(n, [&](Dim a, Dim b) { return pool_.min(a, b); })};
      case SymOp::max: return {fold(n, [&](Dim a, Dim b) { return pool_.max(a, b); })};
      case SymOp::logical_and: return {fold(n, [&](Dim a, Dim b) { return pool_.logical_and(a, b); })};
      case SymOp::logical_or: return {fold(n, [&](Dim a, Dim b) { return pool_.logical_or(a, b); })};
      case SymOp::logical_not: return {pool_.logical_not(dim(n, 0))};
      case SymOp::pow:
      case SymOp::pow_by_natural: return power(n);
      case SymOp::mod:
      case SymOp::python_mod: return {pool_.mod(dim(n, 0), dim(n, 1))};
      case SymOp::floor_div: return {floor(divide(child(n, 0), child(n, 1)))};
      case SymOp::clean_div: return {floor(divide(child(n, 0), child(n, 1)))};
      case SymOp::ceil_div: return {ceil(divide(child(n, 0), child(n, 1)))};
      case SymOp::int_true_div:
      case SymOp::float_true_div: return divide(child(n, 0), child(n, 1));
      case SymOp::to_float:
      case SymOp::identity: return child(n, 0);
      case SymOp::ceil_to_int:
      case SymOp::ceiling: return {ceil(child(n, 0))};
      case SymOp::floor_to_int:
      case SymOp::floor: return {floor(child(n, 0))};
      case SymOp::trunc_to_int:
      case SymOp::trunc_to_float: return {trunc(child(n, 0))};
      case SymOp::round_to_int: return {round(child(n, 0))};
      case SymOp::abs: {
        const Dim d = dim(n, 0);
        return {pool_.max(d, pool_.neg(d))};
      }
      case SymOp::where: return {pool_.select(dim(n, 0), dim(n, 1), dim(n, 2))};
      case SymOp::piecewise: return {piecewise(n)};
      case SymOp::left_shift: return {pool_.shift(ExprOp::shl, dim(n, 0), dim(n, 1))};
      case SymOp::right_shift: return {pool_.shift(ExprOp::shr, dim(n, 0), dim(n, 1))};
      case SymOp::eq:
      case SymOp::ne:
      case SymOp::lt:
      case SymOp::le:
      case SymOp::gt:
      case SymOp::ge: return {compare(n)};
      case SymOp::modular_indexing: return {pool_.mod(pool_.floordiv(dim(n, 0), dim(n, 1)), dim(n, 2))};
      default: break;
    }
    throw Inexpressible{n.name.empty() ? "a function that is not one of integers" : n.name};
  }

  ExprPool& pool_;
  const pt2::SymExpr& expr_;
  const SymbolLookup& symbol_;
  std::vector<Fraction> values_;
};

}  // namespace

bool to_dim(ExprPool& pool, const pt2::SymExpr& expr, const SymbolLookup& symbol, Dim* out, std::string* why) {
  try {
    *out = Converter(pool, expr, symbol).run();
    return true;
  } catch (const Inexpressible& e) {
    *why = e.what;
    return false;
  }
}

}  // namespace tern::importing
