// The targets that device plugins compile kernels for (tern/device.h, "kernel_compiler").
#pragma once

#include <string>
#include <vector>

#include "exporter/kernels/targets.h"

namespace tern {

/// The targets of the plugin of this name; none where there is no such plugin. Its compiler runs in processes of its
/// own (compile_kernel.cpp), and its driver is not started.
std::vector<KernelTarget> plugin_targets(const std::string& plugin);

}  // namespace tern
