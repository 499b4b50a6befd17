// Which constants a step's kernel asks for while it computes, so that steps that do nothing but read them find them in
// a cache.
#pragma once

#include "runtime/plan/plan.h"

namespace tern {

/// Sets Step::upcoming of the plan's steps. Kernels are prepared.
void plan_upcoming(Plan& plan);

}  // namespace tern
