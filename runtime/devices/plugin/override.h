// A device's own kernels in place of portable kernels ("override" of tern/device.h).
#pragma once

#include <memory>

#include "kernels/kernel.h"
#include "kernels/portable/launcher.h"

namespace tern {

class PluginDevice;

/// The portable kernels, with each node offered to the device first.
const KernelTable& overridden_kernels();
/// Returns the device's kernel for a node; null if the device refuses the node.
std::unique_ptr<portable::OwnKernel> prepare_override(PluginDevice& device, const KernelCall& call);

}  // namespace tern
