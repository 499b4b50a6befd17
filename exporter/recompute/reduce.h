// Lowers the most that a function's values hold at once, by making values again.
#pragma once

#include "exporter/recompute/schedule.h"

namespace tern::recompute {

/// Changes the schedule so that its peak is lower, or is reached at fewer steps: by the value that saves most for its
/// cost, among those that are held at the peak without being read there. False, and nothing changed, where none helps.
bool reduce_peak(Schedule& schedule);

}  // namespace tern::recompute
