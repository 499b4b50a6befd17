// Clean-up after a pass: removes dead code, and states that no function reads any more.
#pragma once

#include <vector>

#include "schema/program.h"

namespace tern {

/// Marks states whose value a node, an output or a write-back of a function reads.
std::vector<bool> read_states(const Program& program);

/// Removes dead code, then each state that `candidates` marks, that no function reads or writes, and to which no other
/// state is tied, with the inputs that hold it. States beyond the end of `candidates` stay.
void remove_unread_states(Program& program, const std::vector<bool>& candidates);

}  // namespace tern
