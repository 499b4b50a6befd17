// Bounds of a boolean expression over a block of attention scores, by interval arithmetic: most blocks of a causal,
// sliding-window, prefix or document mask hold no hidden key, or nothing else. Such blocks are never evaluated.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels/cpu/dense.h"
#include "kernels/kernel.h"

namespace tern::cpu {

/// Bounds of a number. `has_nan`: it may be NaN as well.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool has_nan = true;
};

enum class Visibility : std::uint8_t { none, mixed, all };

/// Rows and columns of a block of scores.
struct ScoreBlock {
  std::int64_t plane = 0, first_query = 0, queries = 0, first_key = 0, keys = 0;
};

class ConditionBounds {
 public:
  static constexpr std::size_t kMostInstructions = 64;
  static constexpr std::int64_t kBlockKeys = 64;  ///< blocks begin at multiples of this number

  /// `condition`: load k reads operand k. `scores`: sizes [..., heads, queries, keys], to which operands broadcast.
  ConditionBounds(PointwiseExpr condition, const TensorView& scores);

  /// Bounds of the operands that vary along the keys, a range for each block of keys.
  class Ranges {
   public:
    /// Requests memory from `arena`, and computes the ranges if it has memory.
    Ranges(const ConditionBounds& bounds, std::span<const TensorView> operands, ScratchArena& arena);
    /// Returns `mixed` where bounds do not decide.
    Visibility visibility(const ScoreBlock& block) const;

   private:
    Bounds operand_bounds(std::size_t k, const ScoreBlock& block) const;

    const ConditionBounds& bounds_;
    std::span<const TensorView> operands_;
    std::vector<Bounds*>
        key_ranges_;  ///< [own planes, blocks]; null for an operand that does not vary along the keys alone
  };

 private:
  enum class Axis : std::uint8_t { none, query, key, query_and_key };
  Axis axis_of(const TensorView& operand) const;

  PointwiseExpr condition_;
  TensorView scores_;
  std::int64_t key_blocks_;
};

/// Offset of plane `plane` of `out` in the broadcast operand `v`, in elements. Planes are the axes before the last two,
/// in row-major order; `per_group` heads of `out` share a head of `v`.
std::int64_t plane_offset(const TensorView& v, const TensorView& out, std::int64_t plane, std::int64_t per_group);

}  // namespace tern::cpu
