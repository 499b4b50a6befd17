// How the nodes of a part of a program hang together.
#pragma once

#include <tern/device.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tern::gpu {

/// How many operands of the nodes are the value.
std::ptrdiff_t uses(const tern_device_part& part, std::int32_t value);

/// The node before `node` that makes `value`; -1 for none.
std::int32_t maker(const tern_device_part& part, std::int32_t node, std::int32_t value);

/// The nodes from the maker of `value`, which `node` reads, to the first that does more than change sizes; that one is
/// the last. Empty where there is none, or somebody else reads what is between.
std::vector<std::int32_t> chain_before(const tern_device_part& part, std::int32_t node, std::int32_t value);

}  // namespace tern::gpu
