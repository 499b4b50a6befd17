// Kernels of the device's own in place of the portable ones ("override" of tern/device.h).
#pragma once

#include <memory>

#include "kernels/kernel.h"
#include "kernels/portable/launcher.h"

namespace tern {

class PluginDevice;

/// The portable kernels, where each node is first offered to the device.
const KernelTable& overridden_kernels();
/// The device's kernel for a node; null where it refuses it.
std::unique_ptr<portable::OwnKernel> prepare_override(PluginDevice& device, const KernelCall& call);

}  // namespace tern
