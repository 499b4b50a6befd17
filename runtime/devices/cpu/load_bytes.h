// Initial values of states.
#pragma once

#include <cstddef>
#include <span>

namespace tern {

/// Copies `from` to private anonymous memory at `to`. Many zeros take no memory until they are overwritten: their pages
/// go back to the system, which gives zeros where it is asked for them again.
void load_bytes(std::byte* to, std::span<const std::byte> from);

}  // namespace tern
