// Helpers of passes over a function.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Value of the state in a function of the program: its input, added if absent.
ValueId value_of_state(const Program& program, Function& f, std::uint32_t state);

/// Strides of a row-major state of known sizes.
std::vector<std::int64_t> row_major(const Dims& shape);

/// Index of each value's producing node; -1 for inputs.
std::vector<std::int64_t> producers(const Function& f);

/// Replaces `old` by `v` in nodes, outputs and write-backs.
void use_instead(Function& f, ValueId old, ValueId v);

/// Moves the nodes from `first` on up behind the last node they read, but not before node `after`.
void move_up(Function& f, std::size_t first, std::int64_t after = -1);

}  // namespace tern
