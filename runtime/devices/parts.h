// Divides the nodes that a device accepts into parts, each of which runs as one launch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tern {

/// `uses[i]`: the earlier nodes whose results node `i` reads. `groups[i]`: the device's group, -1: not accepted.
/// Returns each node's part, -1 for none. A part runs at the place of its last node: no other node reads one of its
/// results before that. The nodes of a part have one group and are connected.
std::vector<std::int32_t> divide_into_parts(std::span<const std::vector<std::uint32_t>> uses,
                                            std::span<const std::int32_t> groups);

}  // namespace tern
