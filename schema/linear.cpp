#include "schema/linear.h"

#include <tern/error.h>

#include <algorithm>

#include "schema/work.h"

namespace tern {
namespace {

std::int64_t saturate(__int128 v) {
  constexpr __int128 lo = std::numeric_limits<std::int64_t>::min() + 1, hi = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(v, lo, hi));
}

bool precedes(const LinearSum::Term& a, const LinearSum::Term& b) {
  return a.first < b.first;
}

}  // namespace

void shape_overflow(const char* expression) {
  fail(ErrorCode::bad_file,
       std::string("a shape expression does not fit 64 bits, or divides by zero, in '") + expression + "'");
}

Interval add_bounds(Interval a, Interval b) {
  return {saturate(static_cast<__int128>(a.min) + b.min),
          a.max == kNoBound || b.max == kNoBound ? kNoBound : saturate(static_cast<__int128>(a.max) + b.max)};
}

Interval mul_bounds(Interval a, Interval b) {
  const __int128 p[] = {static_cast<__int128>(a.min) * b.min, static_cast<__int128>(a.min) * b.max,
                        static_cast<__int128>(a.max) * b.min, static_cast<__int128>(a.max) * b.max};
  return {saturate(*std::min_element(p, p + 4)), saturate(*std::max_element(p, p + 4))};
}

bool LinearSum::append(const LinearSum& addend, std::int64_t factor) {
  std::int64_t c = 0;
  if (__builtin_mul_overflow(addend.constant, factor, &c) || __builtin_add_overflow(constant, c, &constant))
    return false;
  for (auto [node, coefficient] : addend.terms) {
    if (__builtin_mul_overflow(coefficient, factor, &c)) return false;
    terms.emplace_back(node, c);
  }
  return true;
}

bool LinearSum::tidy() {
  if (!std::is_sorted(terms.begin(), terms.end(), precedes)) std::sort(terms.begin(), terms.end(), precedes);
  std::size_t kept_count = 0;
  for (std::size_t i = 0; i < terms.size();) {
    Term t = terms[i];
    for (++i; i < terms.size() && terms[i].first == t.first; ++i) {
      if (__builtin_add_overflow(t.second, terms[i].second, &t.second)) return false;
    }
    if (t.second != 0) terms[kept_count++] = t;
  }
  terms.resize(kept_count);
  return true;
}

LinearSum linear_sum(const ExprPool& pool, Dim d) {
  LinearSum l;
  if (d.is_const()) {
    l.constant = d.value();
    return l;
  }
  const std::vector<ExprNode>& nodes = pool.nodes();
  // A sum is a left-leaning chain of adds with terms as right operands. A sum as right operand counts as a single term.
  std::uint32_t sum_node = d.index();
  for (bool has_more = true; has_more; sum_node = nodes[sum_node].a) {
    has_more = nodes[sum_node].op == ExprOp::add && l.terms.size() < kMaxTerms;
    const std::uint32_t term = has_more ? nodes[sum_node].b : sum_node;
    const ExprNode& t = nodes[term];
    if (t.op == ExprOp::constant) {
      if (__builtin_add_overflow(l.constant, t.value, &l.constant)) shape_overflow("+");
    } else if (t.op == ExprOp::mul && nodes[t.a].op == ExprOp::constant) {
      l.terms.emplace_back(t.b, nodes[t.a].value);
    } else {
      l.terms.emplace_back(term, 1);
    }
  }
  charge_work(1 + l.terms.size());
  std::reverse(l.terms.begin(), l.terms.end());
  if (!l.tidy()) shape_overflow("+");
  return l;
}

bool subtract(const ExprPool& pool, Dim a, Dim b, LinearSum* out) {
  *out = linear_sum(pool, a);
  return out->append(linear_sum(pool, b), -1) && out->tidy();
}

Interval difference(const ExprPool& pool, Dim a, Dim b) {
  if (a == b) return {0, 0};
  if (a.is_const() && b.is_const()) {
    const std::int64_t d = saturate(static_cast<__int128>(a.value()) - b.value());
    return {d, d};
  }
  LinearSum l;
  if (!subtract(pool, a, b, &l)) return {std::numeric_limits<std::int64_t>::min() + 1, kNoBound};
  Interval sum{l.constant, l.constant};
  for (auto [node, coefficient] : l.terms) {
    sum = add_bounds(sum, mul_bounds(pool.bounds(Dim::node(node)), {coefficient, coefficient}));
  }
  return sum;
}

Dim sum(ExprPool& pool, std::span<const Dim> dims) {
  if (dims.size() == 2) return pool.add(dims[0], dims[1]);
  LinearSum l;
  for (Dim d : dims) {
    if (!l.append(linear_sum(pool, d), 1)) shape_overflow("+");
  }
  if (!l.tidy()) shape_overflow("+");
  // Builds sums of kMaxTerms terms, and the sum of these sums: depth stays below length.
  Dim total = 0;
  for (std::size_t begin = 0; begin < l.terms.size(); begin += kMaxTerms) {
    Dim monomial_sum = 0;
    for (std::size_t i = begin; i < std::min(begin + kMaxTerms, l.terms.size()); ++i) {
      monomial_sum = pool.add(monomial_sum, pool.mul(l.terms[i].second, Dim::node(l.terms[i].first)));
    }
    total = pool.add(total, monomial_sum);
  }
  return pool.add(total, l.constant);
}

}  // namespace tern
