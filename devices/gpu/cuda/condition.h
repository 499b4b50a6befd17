// Kernel passing a predicate in device memory to a conditional node.
#pragma once

#include <tern/device.h>

#include <cstdint>

#include "devices/gpu/devices.h"

namespace tern::gpu {

/// Loads the kernel once per device.
tern_device_status load_condition_kernel(const GpuDevice& d);

/// Enqueues the kernel. It sets `condition` to 1 if the byte at `predicate` is not 0, else to 0, and sets `opposite`
/// (if not 0) to the negation.
tern_device_status set_condition(const GpuDevice& d, Stream stream, Address predicate, std::uint64_t condition,
                                 std::uint64_t opposite);

}  // namespace tern::gpu
