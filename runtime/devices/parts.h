// Which of the nodes that a device takes run together as one launch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tern {

/// `uses[i]`: the earlier nodes whose results node `i` reads. `groups[i]`: what the device says, -1: not taken. Gives
/// the number of each node's part, -1 for none. A part runs where its last node is: nobody else reads a result of its
/// nodes before that. Nodes of a part have one group, and hang together.
std::vector<std::int32_t> divide_into_parts(std::span<const std::vector<std::uint32_t>> uses,
                                            std::span<const std::int32_t> groups);

}  // namespace tern
