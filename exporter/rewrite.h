// Rewriting a function: inputs for states, other operands, other order.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Value of the state in a function of the program: an input, added if the function has none yet.
ValueId value_of_state(const Program& program, Function& f, std::uint32_t state);

/// Strides of a state of known sizes in row-major order.
std::vector<std::int64_t> row_major(const Dims& shape);

/// Nodes, outputs and write-backs that read `old_value` read `v`.
void use_instead(Function& f, ValueId old_value, ValueId v);
/// Replaces each value that is a key by the value stored for the key.
void use_instead(Function& f, const std::map<ValueId, ValueId>& instead);

/// Moves the nodes from `first` on behind the last node that computes one of their operands, and behind node
/// `min_index`.
void move_up(Function& f, std::size_t first, std::int64_t min_index = -1);

}  // namespace tern
