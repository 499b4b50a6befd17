// Removes states that no function reads any more.
#pragma once

#include <vector>

#include "schema/program.h"

namespace tern {

/// Of the states marked, those whose values no node, output or write-back uses, in any function, and to which no other
/// state is tied. Their inputs go with them.
void remove_unread_states(Program& program, const std::vector<bool>& candidates);

}  // namespace tern
