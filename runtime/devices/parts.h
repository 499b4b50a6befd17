// Divides the nodes accepted by a device into parts, each run as one launch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tern {

/// `dependencies[i]`: the earlier nodes read by node `i`. `groups[i]`: the device's group, -1: not accepted. Returns
/// each node's part, -1 for none. A part runs at the position of its last node: no other node reads the part's results
/// earlier. The nodes of a part have one group and are connected.
std::vector<std::int32_t> divide_into_parts(std::span<const std::vector<std::uint32_t>> dependencies,
                                            std::span<const std::int32_t> groups);

}  // namespace tern
