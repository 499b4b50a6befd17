// Access of GPUs to each other's memory.
#pragma once

#include <vector>

#include "devices/gpu/devices.h"

namespace tern::gpu {

/// Driver ids of the devices that read and write this device's memory.
std::vector<int> peers_of(const GpuDevice& d);

}  // namespace tern::gpu
