// Relations between sizes assumed of a program's inputs: nodes assert_dim with sizes.
#pragma once

#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Removes the relations equal to a text (in the form of 'tern inspect') or matching a text as a pattern (* ?). Throws
/// invalid_argument for a text without a match.
void leave_out_relations(Program& program, const std::vector<std::string>& patterns);

}  // namespace tern
