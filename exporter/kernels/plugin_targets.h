// Kernel targets of device plugins (tern/device.h, "kernel_compiler").
#pragma once

#include <string>
#include <vector>

#include "exporter/kernels/targets.h"

namespace tern {

/// Targets of the named plugin; none if the plugin is missing. Its compiler runs in separate processes
/// (compile_kernel.cpp); its driver is not started.
std::vector<KernelTarget> plugin_targets(const std::string& plugin);

}  // namespace tern
