// Connections between the nodes of a part of a program.
#pragma once

#include <tern/device.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tern::gpu {

/// Number of node operands equal to the value.
std::ptrdiff_t use_count(const tern_device_part& part, std::int32_t value);

/// Producer of `value` among the nodes before `node`; -1 if none exists.
std::int32_t maker(const tern_device_part& part, std::int32_t node, std::int32_t value);

/// Nodes from the producer of `value` (read by `node`) back to the first node doing more than changing sizes,
/// inclusive. Empty if none exists, or if an intermediate result has other readers.
std::vector<std::int32_t> chain_before(const tern_device_part& part, std::int32_t node, std::int32_t value);

}  // namespace tern::gpu
