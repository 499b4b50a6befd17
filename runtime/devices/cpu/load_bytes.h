// Loads initial values of states.
#pragma once

#include <cstddef>
#include <span>

namespace tern {

/// Copies `from` to private anonymous memory at `to`. Long runs of zeros take no memory until overwritten: their pages
/// return to the system, and the system supplies zeros on the next access.
void load_bytes(std::byte* to, std::span<const std::byte> from);

}  // namespace tern
