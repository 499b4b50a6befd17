// Selects constants for a step's kernel to prefetch during its computation, for later memory-bound steps.
#pragma once

#include "runtime/plan/plan.h"

namespace tern {

/// Sets PlanStep::upcoming of the plan's steps. Requires prepared kernels.
void plan_upcoming(SectionPlan& plan);

}  // namespace tern
