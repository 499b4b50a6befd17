// Packs blocks with known lifetimes into one run of memory.
#pragma once

#include <cstdint>
#include <vector>

namespace tern {

/// A block is alive from step `first` to step `last`, both included.
struct Block {
  std::uint64_t size = 0;
  std::uint32_t first = 0, last = 0;
  std::uint64_t offset = 0;  ///< the result; a multiple of 64
};

/// Gives every block an offset so that no two that live at once overlap: the largest first, each at the lowest place
/// that is free for its whole life. Returns the size of the memory.
std::uint64_t pack(std::vector<Block>& blocks);

}  // namespace tern
