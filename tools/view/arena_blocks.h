// What lies in the arena of a plan, and when.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/prepared.h"

namespace tern::view {

/// A part of the arena in use: values that share memory, because one is a view of another or was computed in place.
struct ArenaBlock {
  std::uint64_t begin = 0, end = 0;   ///< bytes
  std::uint32_t first = 0, last = 0;  ///< steps, both included
  std::vector<ValueId> values;        ///< none: a copy that the plan made

  bool meets(const ArenaBlock& b) const { return begin < b.end && b.begin < end && first <= b.last && b.first <= last; }
};

/// In the order of their first steps.
std::vector<ArenaBlock> arena_blocks(const PreparedProgram& prepared, const Plan& plan);

}  // namespace tern::view
