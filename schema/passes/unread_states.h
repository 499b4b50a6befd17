// Removes states no longer read by any function.
#pragma once

#include <vector>

#include "schema/program.h"

namespace tern {

/// Removes candidates whose values are used by no node, output or write-back of any function, and without tied states.
/// Removes their inputs, too.
void remove_unread_states(Program& program, const std::vector<bool>& candidates);

}  // namespace tern
