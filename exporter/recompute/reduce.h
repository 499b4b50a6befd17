// Lowers the peak memory of a function's values by recomputation.
#pragma once

#include "exporter/recompute/schedule.h"

namespace tern::recompute {

/// Lowers the schedule's peak, or its number of peak steps: recomputes the value with the largest saving per cost,
/// among the values held at the peak without a reader there. False, with the schedule unchanged, if none helps.
bool reduce_peak(Schedule& schedule);

}  // namespace tern::recompute
