// The kernel that hands a predicate in the device's memory to a conditional node.
#pragma once

#include <tern/device.h>

#include <cstdint>

#include "devices/gpu/devices.h"

namespace tern::gpu {

/// Loads the kernel, once for each device.
tern_device_status load_condition_kernel(const GpuDevice& d);

/// Puts the kernel on the stream. When it runs, `condition` becomes 1 if the byte at `predicate` is not 0, else 0;
/// `opposite`, unless it is 0, becomes the contrary.
tern_device_status set_condition(const GpuDevice& d, Stream stream, Address predicate, std::uint64_t condition,
                                 std::uint64_t opposite);

}  // namespace tern::gpu
