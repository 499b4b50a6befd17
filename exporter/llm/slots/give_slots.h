// Caches of several texts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Extends each state written back by one of the functions, a text's cache, to `slots` texts: adds a first axis of
/// `slots`, with each slice starting as the state started. The functions' own types stay, for their rewriting. Marks
/// the extended states in the result. Throws invalid_argument if another state shares the memory, or another function
/// reads the state.
std::vector<bool> give_slots(Program& program, std::span<const std::uint32_t> functions, std::int64_t slots);

}  // namespace tern
