// Packs blocks of known lifetimes into one memory.
#pragma once

#include <cstdint>
#include <vector>

namespace tern {

/// A block is alive from step `first` to step `last`, inclusive.
struct MemoryBlock {
  std::uint64_t size = 0;
  std::uint32_t first = 0, last = 0;
  std::uint64_t offset = 0;  ///< the result; a multiple of 64
};

/// Assigns an offset to each block so that no two live blocks overlap. Places the largest block first, each at the
/// lowest offset free during its whole life. Returns the total size.
std::uint64_t pack(std::vector<MemoryBlock>& blocks);

}  // namespace tern
