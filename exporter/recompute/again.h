// Recomputes a value before its next reader, in place of holding it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "exporter/recompute/schedule.h"

namespace tern::recompute {

/// Later readers of intermediate results share the recomputed ones: recomputed once, not twice.
enum class Sharing : bool { off, on };

struct Recomputation {
  std::int32_t insertion_step = 0;          ///< the step
  std::vector<ScheduleStep> steps;          ///< recomputed steps, in order
  std::vector<ValueId> bases;               ///< bases of the steps' results
  std::map<ValueId, ValueId> replacements;  ///< for Schedule::insert
  double cost = 0;                          ///< cost of the steps, less the cost of omitted steps
  std::int64_t saved = 0;                   ///< bytes at the peak
};

/// Recomputation of a root held at the schedule's peak without a reader there. None if the root cannot be recomputed,
/// is a result of the function, or would need more memory than it holds.
std::optional<Recomputation> plan_recomputation(const Schedule& schedule, ValueId root, Sharing sharing);

}  // namespace tern::recompute
