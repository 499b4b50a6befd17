// Bounds of size expressions, derived from the bounds of their operands.
#include <algorithm>

#include "schema/dim.h"
#include "schema/linear.h"

namespace tern {
namespace {

constexpr Interval kAnything{std::numeric_limits<std::int64_t>::min() + 1, kNoBound};

}  // namespace

Interval ExprPool::bounds(Dim d) const {
  return d.is_const() ? Interval{d.value(), d.value()} : bounds_[d.index()];
}

Interval ExprPool::bounds_of(const ExprNode& n) const {
  auto bounds_of = [&](std::uint32_t i) { return bounds_[i]; };
  switch (n.op) {
    case ExprOp::constant: return {n.value, n.value};
    case ExprOp::symbol:
      return {symbols_[static_cast<std::size_t>(n.value)].min, symbols_[static_cast<std::size_t>(n.value)].max};
    case ExprOp::add: return add_bounds(bounds_of(n.a), bounds_of(n.b));
    case ExprOp::mul: return mul_bounds(bounds_of(n.a), bounds_of(n.b));
    case ExprOp::floordiv: {
      const Interval a = bounds_of(n.a), b = bounds_of(n.b);
      if (b.min <= 0) return kAnything;
      auto fd = [](std::int64_t x, std::int64_t y) { return x / y - (x % y < 0); };
      return {a.min >= 0 ? (b.max == kNoBound ? 0 : fd(a.min, b.max)) : fd(a.min, b.min), a.max == kNoBound ? kNoBound
                                                                                          : a.max >= 0
                                                                                              ? fd(a.max, b.min)
                                                                                              : -1};
    }
    case ExprOp::mod: {
      const Interval a = bounds_of(n.a), b = bounds_of(n.b);
      if (b.min <= 0) return kAnything;
      const std::int64_t top = b.max == kNoBound ? kNoBound : b.max - 1;
      return {0, a.min >= 0 ? std::min(top, a.max) : top};
    }
    case ExprOp::min:
      return {std::min(bounds_of(n.a).min, bounds_of(n.b).min), std::min(bounds_of(n.a).max, bounds_of(n.b).max)};
    case ExprOp::max:
      return {std::max(bounds_of(n.a).min, bounds_of(n.b).min), std::max(bounds_of(n.a).max, bounds_of(n.b).max)};
    case ExprOp::select:
      return {std::min(bounds_of(n.b).min, bounds_of(n.c).min), std::max(bounds_of(n.b).max, bounds_of(n.c).max)};
    case ExprOp::eq:
    case ExprOp::ne:
    case ExprOp::lt:
    case ExprOp::le:
    case ExprOp::logical_and:
    case ExprOp::logical_or:
    case ExprOp::logical_not:
    case ExprOp::real_lt:
    case ExprOp::real_le:
    case ExprOp::real_eq: return {0, 1};
    default: return kAnything;
  }
}

}  // namespace tern
