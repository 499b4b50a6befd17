// Blocks of a plan's arena and their lifetimes.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/prepared.h"

namespace tern::view {

/// A used range of the arena: values sharing memory as views or computed in place.
struct ArenaBlock {
  std::uint64_t begin = 0, end = 0;   ///< bytes
  std::uint32_t first = 0, last = 0;  ///< steps, both included
  std::vector<ValueId> values;        ///< empty: a copy made by the plan

  bool meets(const ArenaBlock& b) const { return begin < b.end && b.begin < end && first <= b.last && b.first <= last; }
};

/// Blocks in the order of their first steps.
std::vector<ArenaBlock> arena_blocks(const PreparedProgram& prepared, const SectionPlan& plan);

}  // namespace tern::view
