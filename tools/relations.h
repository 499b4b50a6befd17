// Relations between sizes that a program assumes of its inputs: nodes assert_dim with sizes.
#pragma once

#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Removes the relations that equal one of these texts, as 'tern inspect' shows them, or match one as a pattern (* ?).
/// Throws invalid_argument for a text that none equals or matches.
void leave_out_relations(Program& program, const std::vector<std::string>& patterns);

}  // namespace tern
