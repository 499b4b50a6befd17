#include "runtime/devices/parts.h"

#include <algorithm>

namespace tern {

std::vector<std::int32_t> divide_into_parts(std::span<const std::vector<std::uint32_t>> dependencies,
                                            std::span<const std::int32_t> groups) {
  struct PartState {
    std::int32_t group;
    bool open = true;  // true while no outside node reads the results: the part may move to a later position
  };
  std::vector<std::int32_t> part_of(dependencies.size(), -1);
  std::vector<PartState> parts;
  for (std::size_t i = 0; i < dependencies.size(); ++i) {
    std::int32_t mine = -1;
    if (groups[i] >= 0) {
      for (const std::uint32_t u : dependencies[i]) {
        const std::int32_t p = part_of[u];
        if (p < 0 || p == mine || !parts[static_cast<std::size_t>(p)].open ||
            parts[static_cast<std::size_t>(p)].group != groups[i])
          continue;
        if (mine >= 0) std::replace(part_of.begin(), part_of.begin() + static_cast<std::ptrdiff_t>(i), p, mine);
        if (mine < 0) mine = p;
      }
      if (mine < 0) {
        mine = static_cast<std::int32_t>(parts.size());
        parts.push_back({groups[i]});
      }
    }
    part_of[i] = mine;
    for (const std::uint32_t u : dependencies[i]) {
      if (part_of[u] >= 0 && part_of[u] != mine) parts[static_cast<std::size_t>(part_of[u])].open = false;
    }
  }
  return part_of;
}

}  // namespace tern
