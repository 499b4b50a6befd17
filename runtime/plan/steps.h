// One node of the section, as the program has it.
#pragma once

#include "runtime/plan/draft.h"

namespace tern {

/// Makes it a view or a step.
void plan_node(Draft& d, std::uint32_t i);
/// Makes part `number` of Draft::parts one step; or its nodes one by one, where the device does not take it after all.
void plan_part(Draft& d, std::size_t number);

}  // namespace tern
