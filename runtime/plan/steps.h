// Plans one node of the section.
#pragma once

#include "runtime/plan/draft.h"

namespace tern {

/// Turns the node into a view or a step.
void plan_node(Draft& d, std::uint32_t i);
/// Turns part `number` of Draft::parts into one step, or into single nodes if the device refuses the part.
void plan_part(Draft& d, std::size_t number);

}  // namespace tern
