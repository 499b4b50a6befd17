// Makes the plan of one section of a function for known symbol values.
#pragma once

#include <memory>

#include "runtime/plan/request.h"

namespace tern {

/// Fails if the program does not fit these sizes, naming the node. Thread-safe.
std::shared_ptr<const SectionPlan> make_plan(PlanRequest request);

}  // namespace tern
