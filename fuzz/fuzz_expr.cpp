// Size expressions: arbitrary strings parsed as sympy's, and arbitrary sequences of operations on an ExprPool, whose
// simplified expressions must have the values of the single operations, within their bounds.
#include <tern/error.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporter/import/sym_expr.h"
#include "schema/dim.h"

namespace {

using namespace tern;

void read_text(std::string_view text) {
  try {
    const pt2::SymExpr expr = pt2::parse_sympy(text);
    ExprPool pool;
    Dim out;
    std::string why;
    const auto symbol = [&](const pt2::SymNode& n) { return pool.symbol(n.name, n.positive ? 1 : -100, 1000); };
    if (!importing::to_dim(pool, expr, symbol, &out, &why)) return;
    pool.text(out);
    const std::vector<std::int64_t> symbols(pool.symbols().size(), 7);
    std::vector<std::int64_t> values(pool.nodes().size());
    evaluate(pool.nodes(), symbols, values);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal) std::abort();
  }
}

struct SymbolTerm {
  Dim dim;
  std::int64_t value;
};

constexpr std::int64_t kLargest = std::int64_t{1} << 40;

class ExpressionMachine {
 public:
  explicit ExpressionMachine(std::span<const std::uint8_t> code) : code_(code) {
    constexpr std::array<std::pair<std::int64_t, std::int64_t>, 3> kRanges = {{{1, 100}, {0, kNoBound}, {-5, 5}}};
    for (const auto& [min, max] : kRanges) {
      const std::int64_t span = std::min<std::int64_t>(max - min, 255) + 1;
      const std::int64_t value = min + next() % span;
      terms_.push_back({pool_.symbol("s" + std::to_string(terms_.size()), min, max), value});
      symbols_.push_back(value);
    }
  }

  void run() {
    while (!code_.empty() && terms_.size() < 40) {
      try {
        step();
      } catch (const Error& e) {
        if (e.code() == ErrorCode::internal) std::abort();  // others: an intermediate overflow during simplification
      }
    }
  }

 private:
  std::uint8_t next() {
    if (code_.empty()) return 0;
    const std::uint8_t byte = code_.front();
    code_ = code_.subspan(1);
    return byte;
  }
  const SymbolTerm& term() { return terms_[next() % terms_.size()]; }

  void step() {
    const std::uint8_t which = next() % 20;
    const SymbolTerm a = term(), b = term(), c = term();
    const auto both = [&](ExprOp op, Dim d) { push(op, d, a.value, b.value, c.value); };
    switch (which) {
      case 0:
        terms_.push_back({Dim(static_cast<std::int8_t>(next())), 0}), terms_.back().value = terms_.back().dim.value();
        return;
      case 1: return both(ExprOp::add, pool_.add(a.dim, b.dim));
      case 2: return push(ExprOp::add, pool_.sub(a.dim, b.dim), a.value, -b.value, 0);
      case 3: return both(ExprOp::mul, pool_.mul(a.dim, b.dim));
      case 4:
        if (b.value != 0) both(ExprOp::floordiv, pool_.floordiv(a.dim, b.dim));
        return;
      case 5:
        if (b.value != 0) both(ExprOp::mod, pool_.mod(a.dim, b.dim));
        return;
      case 6: return both(ExprOp::min, pool_.min(a.dim, b.dim));
      case 7: return both(ExprOp::max, pool_.max(a.dim, b.dim));
      case 8: return both(ExprOp::eq, pool_.eq(a.dim, b.dim));
      case 9: return both(ExprOp::ne, pool_.ne(a.dim, b.dim));
      case 10: return both(ExprOp::lt, pool_.lt(a.dim, b.dim));
      case 11: return both(ExprOp::le, pool_.le(a.dim, b.dim));
      case 12: return both(ExprOp::logical_and, pool_.logical_and(a.dim, b.dim));
      case 13: return both(ExprOp::logical_or, pool_.logical_or(a.dim, b.dim));
      case 14: return both(ExprOp::logical_not, pool_.logical_not(a.dim));
      case 15: return both(ExprOp::select, pool_.select(a.dim, b.dim, c.dim));
      case 16:
        if (b.value >= 0 && b.value < 6) both(ExprOp::pow, pool_.pow(a.dim, b.dim));
        return;
      case 17:
        if (b.value >= 0 && b.value < 20) both(ExprOp::shl, pool_.shift(ExprOp::shl, a.dim, b.dim));
        return;
      case 18:
        if (b.value >= 0) both(ExprOp::shr, pool_.shift(ExprOp::shr, a.dim, b.dim));
        return;
      case 19:
        if (pool_.proved_equal(a.dim, b.dim) && a.value != b.value)
          stop("proved equal, and are not", a.dim, a.value, b.value);
        return;
    }
  }

  void push(ExprOp op, Dim d, std::int64_t a, std::int64_t b, std::int64_t c) {
    std::int64_t expected = 0;
    if (!apply(op, a, b, c, &expected) || expected > kLargest || expected < -kLargest) return;
    std::int64_t got = d.value();
    if (!d.is_const()) {
      std::vector<std::int64_t> values(pool_.nodes().size());
      evaluate(pool_.nodes(), symbols_, values);
      got = values[d.index()];
      // Factors are sorted: a product may overflow before the multiplication by zero.
      if (got == kUndefined && overflows(d.index(), values)) return;
    }
    if (got != expected) stop("is another value", d, got, expected);
    const Interval bounds = pool_.bounds(d);
    if (expected < bounds.min || expected > bounds.max) stop("lies outside its bounds", d, bounds.min, expected);
    pool_.text(d);
    terms_.push_back({d, expected});
  }

  /// Some part of the expression is undefined, and not because of a division by zero.
  bool overflows(std::uint32_t root, const std::vector<std::int64_t>& values) const {
    std::vector<std::uint32_t> open = {root};
    std::vector<bool> seen(values.size());
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      if (seen[at] || values[at] != kUndefined) continue;
      seen[at] = true;
      const ExprNode& n = pool_.nodes()[at];
      const std::uint32_t operands[] = {n.a, n.b, n.c};
      bool source = true;
      for (int k = 0; k < operand_count(n.op); ++k) {
        source = source && values[operands[k]] != kUndefined;
        open.push_back(operands[k]);
      }
      if (source && n.op != ExprOp::floordiv && n.op != ExprOp::mod) return true;
    }
    return false;
  }

  [[noreturn]] void stop(const char* what, Dim d, std::int64_t got, std::int64_t expected) {
    std::fprintf(stderr, "%s %s: %lld, expected %lld\n", pool_.text(d).c_str(), what, static_cast<long long>(got),
                 static_cast<long long>(expected));
    for (std::size_t i = 0; i < symbols_.size(); ++i)
      std::fprintf(stderr, "s%zu = %lld\n", i, static_cast<long long>(symbols_[i]));
    std::abort();
  }

  std::span<const std::uint8_t> code_;
  ExprPool pool_;
  std::vector<SymbolTerm> terms_;
  std::vector<std::int64_t> symbols_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  if (data[0] % 2 == 0) {
    read_text({reinterpret_cast<const char*>(data) + 1, size - 1});
  } else {
    ExpressionMachine({data + 1, size - 1}).run();
  }
  return 0;
}
