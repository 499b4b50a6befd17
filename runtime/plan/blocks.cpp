#include "runtime/plan/blocks.h"

#include <algorithm>
#include <numeric>

namespace tern {

std::uint64_t pack(std::vector<MemoryBlock>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].size > blocks[b].size; });
  std::vector<std::size_t> placed;  // ordered by offset
  std::uint64_t total = 0;
  for (std::size_t i : order) {
    MemoryBlock& b = blocks[i];
    const std::uint64_t size = (b.size + 63) / 64 * 64;
    std::uint64_t at = 0;
    for (std::size_t j : placed) {
      const MemoryBlock& p = blocks[j];
      if (p.last < b.first || p.first > b.last) continue;
      if (at + size <= p.offset) break;
      at = std::max(at, p.offset + (p.size + 63) / 64 * 64);
    }
    b.offset = at;
    total = std::max(total, at + size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), at,
                                   [&](std::uint64_t offset, std::size_t j) { return offset < blocks[j].offset; }),
                  i);
  }
  return total;
}

}  // namespace tern
