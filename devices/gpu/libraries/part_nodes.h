// How the nodes of a part of a program hang together.
#pragma once

#include <tern/device.h>

#include <cstddef>
#include <cstdint>

namespace tern::gpu {

/// How many operands of the nodes are the value.
std::ptrdiff_t uses(const tern_device_part& part, std::int32_t value);

/// The node before `node` that makes `value`; -1 for none.
std::int32_t maker(const tern_device_part& part, std::int32_t node, std::int32_t value);

}  // namespace tern::gpu
