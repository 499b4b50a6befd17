// Caches of several texts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Each state that one of the functions writes back, a text's cache, becomes those of `slots` texts: it gets a first
/// axis of that size, and each part begins as the state began. The functions' own types stay for their rewriting.
/// Returns which states those are. Throws invalid_argument where one shares its memory, or another function reads it.
std::vector<bool> give_slots(Program& program, std::span<const std::uint32_t> functions, std::int64_t slots);

}  // namespace tern
