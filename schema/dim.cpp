#include "schema/dim.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "dtypes/checked.h"
#include "schema/linear.h"
#include "schema/work.h"

namespace tern {
namespace {

/// Work charged per new node: about its bytes, including the lookup table.
constexpr std::uint64_t kNodeWork = 160;

std::int64_t bits_of(double value) {
  return std::bit_cast<std::int64_t>(value + 0.0);  // no -0: its bits equal kUndefined
}

using DoubleFunction = double (*)(double);
/// Ordered like RealFunction.
constexpr DoubleFunction kRealFunctions[] = {std::floor, std::ceil, std::trunc, std::nearbyint, std::fabs, std::sqrt,
                                             std::exp,   std::log,  std::log2,  std::sin,       std::cos,  std::tan,
                                             std::asin,  std::acos, std::atan,  std::sinh,      std::cosh, std::tanh};
static_assert(std::size(kRealFunctions) == kRealFunctionCount);

/// Rounds correctly, like Python's round(x, digits).
double rounded(double x, std::int64_t digits) {
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", static_cast<int>(digits), x);
  return std::strtod(text, nullptr);
}

bool apply_real(ExprOp op, std::int64_t a, std::int64_t b, std::int64_t* out) {
  const double x = std::bit_cast<double>(a), y = std::bit_cast<double>(b);
  switch (op) {
    case ExprOp::to_real: *out = bits_of(static_cast<double>(a)); return true;
    case ExprOp::real_to_int:
      if (!(std::fabs(x) < 0x1p63)) return false;
      *out = static_cast<std::int64_t>(x);
      return true;
    case ExprOp::real_add: *out = bits_of(x + y); return true;
    case ExprOp::real_mul: *out = bits_of(x * y); return true;
    case ExprOp::real_div: *out = bits_of(x / y); return y != 0;
    case ExprOp::real_pow: *out = bits_of(std::pow(x, y)); return true;
    case ExprOp::real_lt: *out = x < y; return true;
    case ExprOp::real_le: *out = x <= y; return true;
    case ExprOp::real_eq: *out = x == y; return true;
    case ExprOp::real_function:
      if (b < 0 || b >= kRealFunctionCount) return false;
      *out = bits_of(kRealFunctions[b](x));
      return true;
    case ExprOp::real_round:
      if (b < 0 || b > 17) return false;
      *out = bits_of(rounded(x, b));
      return true;
    default: return false;
  }
}

}  // namespace

int operand_count(ExprOp op) {
  switch (op) {
    case ExprOp::constant:
    case ExprOp::symbol: return 0;
    case ExprOp::logical_not:
    case ExprOp::to_real:
    case ExprOp::real_to_int: return 1;
    case ExprOp::select: return 3;
    default: return 2;
  }
}

bool apply(ExprOp op, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t* out) {
  switch (op) {
    case ExprOp::add: return checked_add(a, b, out);
    case ExprOp::mul: return checked_mul(a, b, out);
    case ExprOp::floordiv: return checked_floordiv(a, b, out);
    case ExprOp::mod: return checked_mod(a, b, out);
    case ExprOp::min: *out = std::min(a, b); return true;
    case ExprOp::max: *out = std::max(a, b); return true;
    case ExprOp::eq: *out = a == b; return true;
    case ExprOp::ne: *out = a != b; return true;
    case ExprOp::lt: *out = a < b; return true;
    case ExprOp::le: *out = a <= b; return true;
    case ExprOp::logical_and: *out = a != 0 && b != 0; return true;
    case ExprOp::logical_or: *out = a != 0 || b != 0; return true;
    case ExprOp::logical_not: *out = a == 0; return true;
    case ExprOp::select: *out = a != 0 ? b : c; return true;
    case ExprOp::pow: {
      if (b < 0) return false;
      std::int64_t r = 1;
      for (std::int64_t base = a; b > 0; b >>= 1) {
        if ((b & 1) != 0 && __builtin_mul_overflow(r, base, &r)) return false;
        if (b > 1 && __builtin_mul_overflow(base, base, &base)) return false;
      }
      *out = r;
      return true;
    }
    case ExprOp::shl:
      if (b < 0 || b > 62) return false;
      return !__builtin_mul_overflow(a, std::int64_t{1} << b, out);
    case ExprOp::shr:
      if (b < 0) return false;
      *out = a >> std::min<std::int64_t>(b, 63);
      return true;
    case ExprOp::bit_and: *out = a & b; return true;
    case ExprOp::bit_or: *out = a | b; return true;
    case ExprOp::bit_xor: *out = a ^ b; return true;
    default: return apply_real(op, a, b, out);
  }
}

void evaluate(std::span<const ExprNode> nodes, std::span<const std::int64_t> symbols, std::span<std::int64_t> values) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ExprNode& n = nodes[i];
    std::int64_t& v = values[i];
    v = kUndefined;
    if (n.op == ExprOp::constant) {
      v = n.value;
    } else if (n.op == ExprOp::symbol) {
      v = symbols[static_cast<std::size_t>(n.value)];
    } else {
      const int count = operand_count(n.op);
      const std::int64_t a = values[n.a], b = count > 1 ? values[n.b] : 0, c = count > 2 ? values[n.c] : 0;
      if (n.op == ExprOp::select) {  // only the selected branch must be defined
        if (a != kUndefined) v = a != 0 ? b : c;
        continue;
      }
      // The first operand may decide the result, like in Python.
      if (a != kUndefined && n.op == (a != 0 ? ExprOp::logical_or : ExprOp::logical_and)) {
        v = a != 0;
        continue;
      }
      if (a == kUndefined || b == kUndefined) continue;
      if (!apply(n.op, a, b, c, &v)) v = kUndefined;
    }
  }
}

struct ExprPool::Linear : LinearSum {};

std::size_t ExprPool::NodeHash::operator()(const ExprNode& n) const {
  std::uint64_t h = static_cast<std::uint64_t>(n.op) * 0x9E3779B97F4A7C15ull + static_cast<std::uint64_t>(n.value);
  for (std::uint64_t x : {n.a, n.b, n.c}) h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9ull + x;
  return h ^ (h >> 31);
}

Dim ExprPool::intern(const ExprNode& node) {
  auto [it, added] = index_.try_emplace(node, static_cast<std::uint32_t>(nodes_.size()));
  if (added) {
    charge_work(kNodeWork);
    nodes_.push_back(node);
    bounds_.push_back(bounds_of(node));
  }
  return Dim::node(it->second);
}

std::uint32_t ExprPool::operand(Dim d) {
  return d.is_const() ? intern({ExprOp::constant, 0, 0, 0, d.value()}).index() : d.index();
}

void ExprPool::assign(std::vector<ExprNode> nodes, std::vector<Symbol> symbols) {
  nodes_ = std::move(nodes);
  symbols_ = std::move(symbols);
  index_.clear();
  bounds_.clear();
  index_.reserve(nodes_.size());
  bounds_.reserve(nodes_.size());
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    index_.try_emplace(nodes_[i], i);
    bounds_.push_back(bounds_of(nodes_[i]));
  }
}

Dim ExprPool::symbol(const std::string& name, std::int64_t min, std::int64_t max) {
  charge_work(symbols_.size() / 4);
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    if (symbols_[i].name == name) return intern({ExprOp::symbol, 0, 0, 0, static_cast<std::int64_t>(i)});
  }
  charge_work(sizeof(Symbol) + name.size());
  symbols_.push_back({name, min, max});
  return intern({ExprOp::symbol, 0, 0, 0, static_cast<std::int64_t>(symbols_.size() - 1)});
}

Dim ExprPool::new_symbol(const std::string& prefix, std::int64_t min, std::int64_t max) {
  charge_work(sizeof(Symbol) + prefix.size());
  symbols_.push_back({prefix + std::to_string(symbols_.size()), min, max});
  return intern({ExprOp::symbol, 0, 0, 0, static_cast<std::int64_t>(symbols_.size() - 1)});
}

int ExprPool::symbol_of(Dim d) const {
  if (d.is_const() || nodes_[d.index()].op != ExprOp::symbol) return -1;
  return static_cast<int>(nodes_[d.index()].value);
}

ExprPool::Linear ExprPool::linear(Dim d) const {
  return {linear_sum(*this, d)};
}

Dim ExprPool::build(const Linear& l) {
  if (l.terms.empty()) return l.constant;
  Dim sum;
  bool first = true;
  auto append = [&](Dim term) {
    sum = first ? term : intern({ExprOp::add, operand(sum), operand(term)});
    first = false;
  };
  charge_work(l.terms.size());
  for (auto [node, coefficient] : l.terms) {
    const std::uint32_t factor = coefficient == 1 ? 0 : operand(coefficient);
    append(coefficient == 1 ? Dim::node(node) : intern({ExprOp::mul, factor, node}));
  }
  if (l.constant != 0) append(Dim::node(operand(l.constant)));
  return sum;
}

void ExprPool::factors_of(std::uint32_t node, std::vector<std::uint32_t>& out) const {
  std::size_t count = 1;
  for (; nodes_[node].op == ExprOp::mul && count < kMaxFactors; ++count) {
    out.push_back(nodes_[node].b);
    node = nodes_[node].a;
  }
  out.push_back(node);
  charge_work(count);
}

Dim ExprPool::product_of(std::vector<std::uint32_t> factors) {
  if (factors.empty()) return 1;
  std::sort(factors.begin(), factors.end());
  std::uint32_t p = factors[0];
  for (std::size_t i = 1; i < factors.size(); ++i) p = intern({ExprOp::mul, p, factors[i]}).index();
  return Dim::node(p);
}

// Most sizes are constants and need no sums.
Dim ExprPool::add(Dim a, Dim b) {
  std::int64_t constant = 0;
  if (a.is_const() && b.is_const() && checked_add(a.value(), b.value(), &constant)) return constant;
  Linear l = linear(a);
  if (!l.append(linear(b), 1) || !l.tidy()) shape_overflow("+");
  return l.terms.size() > kMaxTerms ? intern({ExprOp::add, operand(a), operand(b)}) : build(l);
}
Dim ExprPool::sub(Dim a, Dim b) {
  std::int64_t constant = 0;
  if (a.is_const() && b.is_const() && checked_sub(a.value(), b.value(), &constant)) return constant;
  Linear l;
  if (!subtract(*this, a, b, &l)) shape_overflow("-");
  if (l.terms.size() <= kMaxTerms) return build(l);
  const Dim negative = intern({ExprOp::mul, operand(-1), operand(b)});
  return intern({ExprOp::add, operand(a), negative.index()});
}
Dim ExprPool::neg(Dim a) {
  return sub(0, a);
}

Dim ExprPool::mul(Dim a, Dim b) {
  std::int64_t constant = 0;
  if (a.is_const() && b.is_const() && checked_mul(a.value(), b.value(), &constant)) return constant;
  const Linear x = linear(a), y = linear(b);
  if (x.terms.size() * y.terms.size() > 64) return intern({ExprOp::mul, operand(a), operand(b)});
  Linear r, constant_part;
  constant_part.terms = y.terms;
  if (!r.append(x, y.constant) || !r.append(constant_part, x.constant)) shape_overflow("*");
  for (auto [xn, xc] : x.terms) {
    for (auto [yn, yc] : y.terms) {
      std::vector<std::uint32_t> factors;
      factors_of(xn, factors);
      factors_of(yn, factors);
      std::int64_t c = 0;
      if (__builtin_mul_overflow(xc, yc, &c)) shape_overflow("*");
      const Dim product = factors.size() > kMaxFactors ? intern({ExprOp::mul, xn, yn}) : product_of(std::move(factors));
      r.terms.emplace_back(product.index(), c);
    }
  }
  if (!r.tidy()) shape_overflow("*");
  return build(r);
}

/// Splits `l` into quotient * divisor + remainder, dividing each term that is a multiple of `divisor`. Returns false
/// without such a term.
bool ExprPool::divide(const Linear& l, Dim divisor, Linear* quotient, Linear* remainder) {
  const Linear d = linear(divisor);
  std::int64_t constant_divisor = d.constant;
  std::vector<std::uint32_t> symbols;
  if (!d.terms.empty()) {
    if (d.terms.size() != 1 || d.constant != 0) {  // a sum: only multiples of the whole sum count
      std::int64_t q = 0, negative = 0;
      if (l.terms.size() != d.terms.size() || !apply(ExprOp::floordiv, l.terms[0].second, d.terms[0].second, 0, &q) ||
          q == 0 || !checked_neg(q, &negative)) {
        return false;
      }
      Linear check = l;
      if (!check.append(d, negative) || !check.tidy() || !check.is_zero()) return false;
      quotient->constant = q;
      return true;
    }
    constant_divisor = d.terms[0].second;
    factors_of(d.terms[0].first, symbols);
  }
  if (constant_divisor == 0) return false;
  // c = q * divisor, if the divisor divides c and q fits 64 bits.
  const auto divides_exactly = [constant_divisor](std::int64_t c, std::int64_t* q) {
    std::int64_t r = 0;
    return apply(ExprOp::mod, c, constant_divisor, 0, &r) && r == 0 &&
           apply(ExprOp::floordiv, c, constant_divisor, 0, q);
  };
  bool has_constant_factor = false;
  if (!symbols.empty() || !divides_exactly(l.constant, &quotient->constant)) remainder->constant = l.constant;
  for (auto [node, coefficient] : l.terms) {
    std::vector<std::uint32_t> factors;
    factors_of(node, factors);
    charge_work(factors.size() * symbols.size());
    std::int64_t q = 0;
    bool is_divisible = divides_exactly(coefficient, &q);
    for (std::uint32_t s : symbols) {
      auto it = std::find(factors.begin(), factors.end(), s);
      is_divisible = is_divisible && it != factors.end();
      if (it != factors.end()) factors.erase(it);
    }
    if (!is_divisible) {
      remainder->terms.emplace_back(node, coefficient);
      continue;
    }
    has_constant_factor = true;
    const Dim p = product_of(std::move(factors));
    if (!p.is_const()) {
      quotient->terms.emplace_back(p.index(), q);
    } else if (!checked_add(quotient->constant, q, &quotient->constant)) {
      shape_overflow("//");
    }
  }
  if (!quotient->tidy() || !remainder->tidy()) shape_overflow("//");
  return has_constant_factor;
}

Dim ExprPool::leaf(ExprOp op, Dim a, Dim b, Dim c) {
  const int count = operand_count(op);
  if (a.is_const() && (count < 2 || b.is_const()) && (count < 3 || c.is_const())) {
    std::int64_t v = 0;
    if (!apply(op, a.value(), b.value(), c.value(), &v)) shape_overflow(op == ExprOp::pow ? "**" : "//");
    return v;
  }
  ExprNode n{op, operand(a)};
  if (count > 1) n.b = operand(b);
  if (count > 2) n.c = operand(c);
  return intern(n);
}

Dim ExprPool::floordiv(Dim a, Dim b) {
  if (b.is(1)) return a;
  if (a.is_const() && b.is_const()) return leaf(ExprOp::floordiv, a, b);
  if (a == b) return 1;
  Linear q, r;
  if (divide(linear(a), b, &q, &r)) return add(build(q), r.is_zero() ? Dim(0) : floordiv(build(r), b));
  const Interval ab = bounds(a), bb = bounds(b);
  if (ab.min >= 0 && bb.min > 0 && ab.max < bb.min) return 0;
  return leaf(ExprOp::floordiv, a, b);
}
Dim ExprPool::ceildiv(Dim a, Dim b) {
  return neg(floordiv(neg(a), b));
}

Dim ExprPool::mod(Dim a, Dim b) {
  if (b.is(1)) return 0;
  if (a.is_const() && b.is_const()) return leaf(ExprOp::mod, a, b);
  if (a == b) return 0;
  Linear q, r;
  if (divide(linear(a), b, &q, &r)) return mod(build(r), b);
  const Interval ab = bounds(a), bb = bounds(b);
  if (ab.min >= 0 && bb.min > 0 && ab.max < bb.min) return a;
  return leaf(ExprOp::mod, a, b);
}

Dim ExprPool::min(Dim a, Dim b) {
  const Interval d = difference(*this, a, b);
  if (d.max <= 0) return a;
  if (d.min >= 0) return b;
  return leaf(ExprOp::min, a, b);
}
Dim ExprPool::max(Dim a, Dim b) {
  const Interval d = difference(*this, a, b);
  if (d.max <= 0) return b;
  if (d.min >= 0) return a;
  return leaf(ExprOp::max, a, b);
}
Dim ExprPool::eq(Dim a, Dim b) {
  const Interval d = difference(*this, a, b);
  if (d.min > 0 || d.max < 0) return 0;
  if (d.min == 0 && d.max == 0) return 1;
  return leaf(ExprOp::eq, a, b);
}
Dim ExprPool::ne(Dim a, Dim b) {
  return logical_not(eq(a, b));
}
Dim ExprPool::lt(Dim a, Dim b) {
  const Interval d = difference(*this, a, b);
  if (d.max < 0) return 1;
  if (d.min >= 0) return 0;
  return leaf(ExprOp::lt, a, b);
}
Dim ExprPool::le(Dim a, Dim b) {
  const Interval d = difference(*this, a, b);
  if (d.max <= 0) return 1;
  if (d.min > 0) return 0;
  return leaf(ExprOp::le, a, b);
}
Dim ExprPool::logical_and(Dim a, Dim b) {
  if (a.is(0) || b.is(0)) return 0;
  if (a.is_const() && b.is_const()) return 1;
  return leaf(ExprOp::logical_and, a, b);
}
Dim ExprPool::logical_or(Dim a, Dim b) {
  if ((a.is_const() && !a.is(0)) || (b.is_const() && !b.is(0))) return 1;
  return leaf(ExprOp::logical_or, a, b);
}
Dim ExprPool::logical_not(Dim a) {
  return leaf(ExprOp::logical_not, a);
}
Dim ExprPool::select(Dim condition, Dim a, Dim b) {
  if (condition.is_const()) return condition.is(0) ? b : a;
  return a == b ? a : leaf(ExprOp::select, condition, a, b);
}
Dim ExprPool::pow(Dim a, Dim b) {
  return b.is(1) ? a : b.is(2) ? mul(a, a) : leaf(ExprOp::pow, a, b);
}
Dim ExprPool::shift(ExprOp op, Dim a, Dim b) {
  return leaf(op, a, b);
}

Dim ExprPool::bitwise(ExprOp op, Dim a, Dim b) {
  return leaf(op, a, b);
}
Dim ExprPool::real_constant(double value) {
  return bits_of(value);
}
Dim ExprPool::real_node(ExprOp op, Dim a, Dim b) {
  return leaf(op, a, b);
}

Dim ExprPool::product(std::span<const Dim> dims) {
  Dim p = 1;
  for (Dim d : dims) p = mul(p, d);
  return p;
}

bool ExprPool::proved_equal(Dim a, Dim b) {
  Linear l;
  return a == b || (subtract(*this, a, b, &l) && l.is_zero());
}

}  // namespace tern
