// Sizes as linear sums: constant + sum of coefficient * node. Used by ExprPool for ordering sums.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "schema/dim.h"

namespace tern {

/// Limits of terms and factors. Longer expressions are split only up to the limit, with the remaining chain as one term
/// or factor. The limits bound the time of every operation on expressions.
inline constexpr std::size_t kMaxTerms = 128;
inline constexpr std::size_t kMaxFactors = 32;

struct LinearSum {
  using Term = std::pair<std::uint32_t, std::int64_t>;  ///< node (neither sum nor constant) and coefficient
  std::int64_t constant = 0;
  std::vector<Term> terms;  ///< sorted by node, each node once, once tidy() has run

  bool is_zero() const { return terms.empty() && constant == 0; }
  /// Adds factor * other. Returns false on overflow.
  bool append(const LinearSum& other, std::int64_t factor);
  /// Sorts terms, merges terms of equal nodes, and drops zero terms. False on overflow.
  bool tidy();
};

LinearSum linear_sum(const ExprPool& pool, Dim d);
/// Computes a - b. Returns false on overflow.
bool subtract(const ExprPool& pool, Dim a, Dim b, LinearSum* out);
/// Range of a - b implied by the symbols' ranges. Adds no node.
Interval difference(const ExprPool& pool, Dim a, Dim b);
/// Adds all terms at once: linear time instead of quadratic.
Dim sum(ExprPool& pool, std::span<const Dim> dims);

Interval add_bounds(Interval a, Interval b);
Interval mul_bounds(Interval a, Interval b);
/// Fails with bad_file: `expression` is the operation overflowing 64 bits.
[[noreturn]] void shape_overflow(const char* expression);

}  // namespace tern
