// What passes that rewrite a function have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern {

/// The value that the state is in a function of the program: an input, which is added if there is none yet.
ValueId value_of_state(const Program& program, Function& f, std::uint32_t state);

/// Strides of a state that lies row by row, of known sizes.
std::vector<std::int64_t> row_major(const Dims& shape);

/// For each value the place of the node that makes it; -1 for inputs.
std::vector<std::int64_t> producers(const Function& f);

/// Nodes, outputs and write-backs that read `old` read `v`.
void use_instead(Function& f, ValueId old, ValueId v);

/// Moves the nodes from `first` on to right behind the last node that they read from, and not before node `after`.
void move_up(Function& f, std::size_t first, std::int64_t after = -1);

}  // namespace tern
