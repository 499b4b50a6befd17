// The targets that device plugins compile kernels for (tern/device.h, "kernel_compiler").
#pragma once

#include <vector>

#include "exporter/kernels/targets.h"

namespace tern {

std::vector<KernelTarget> plugin_targets();

}  // namespace tern
