// Sizes as sums: constant + sum of coefficient * node. What ExprPool keeps sums in order with.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "schema/dim.h"

namespace tern {

/// An expression with more terms or factors is looked at in part: the rest of the chain is one term, or one factor. So
/// no operation on expressions takes more time than these limits allow.
inline constexpr std::size_t kMaxTerms = 128;
inline constexpr std::size_t kMaxFactors = 32;

struct LinearSum {
  using Term = std::pair<std::uint32_t, std::int64_t>;  ///< node, which is no sum and no constant, and coefficient
  std::int64_t constant = 0;
  std::vector<Term> terms;  ///< sorted by node, each node once, once tidy() has run

  bool is_zero() const { return terms.empty() && constant == 0; }
  /// Adds factor * other. False on overflow.
  bool append(const LinearSum& other, std::int64_t factor);
  /// Sorts terms, adds those of one node, and drops those that are zero. False on overflow.
  bool tidy();
};

LinearSum linear_sum(const ExprPool& pool, Dim d);
/// a - b. False on overflow.
bool subtract(const ExprPool& pool, Dim a, Dim b, LinearSum* out);
/// What the ranges of the symbols allow a - b to be. Makes no node.
Interval difference(const ExprPool& pool, Dim a, Dim b);
/// All of them added at once: linear in the number of terms, where one after the other is quadratic.
Dim sum(ExprPool& pool, std::span<const Dim> dims);

Interval add_bounds(Interval a, Interval b);
Interval mul_bounds(Interval a, Interval b);
/// Fails with bad_file: `what` is the operation that leaves 64 bits.
[[noreturn]] void shape_overflow(const char* what);

}  // namespace tern
