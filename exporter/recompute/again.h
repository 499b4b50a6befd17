// Making a value again where it is read next, instead of holding it until then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "exporter/recompute/schedule.h"

namespace tern::recompute {

/// Whether later readers of what is made on the way read it there too, so that it is made once more and not twice.
enum class Sharing : bool { off, on };

struct Again {
  std::int32_t before = 0;             ///< the step
  std::vector<Step> steps;             ///< what runs again, in this order
  std::vector<ValueId> bases;          ///< of their results
  std::map<ValueId, ValueId> instead;  ///< for Schedule::insert
  double cost = 0;                     ///< of the steps; less those that need not run any more
  std::int64_t saved = 0;              ///< bytes at the peak
};

/// How to make the root again that is held at the schedule's peak without being read there. None where it cannot be
/// made again, is a result of the function, or would need more memory than it holds.
std::optional<Again> make_again(const Schedule& schedule, ValueId root, Sharing sharing);

}  // namespace tern::recompute
