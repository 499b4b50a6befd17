// Kernels of the device's own in place of the portable ones ("override" of tern/device.h).
#pragma once

#include "kernels/kernel.h"

namespace tern {

class Device;

/// The portable kernels; where the device has its own, each node is offered to it first.
const KernelTable& device_kernels(const Device& device);

}  // namespace tern
