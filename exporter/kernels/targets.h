// Targets of `tern export --target` with precompiled kernels.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/kernels/recording_device.h"
#include "schema/program.h"

namespace tern {

struct KernelTarget {
  std::string name;               ///< "xpu:spirv", "cuda:sm_90"
  std::vector<DeviceKind> kinds;  ///< devices accepting the modules
  std::function<std::vector<std::byte>(const std::string& name, const std::string& text)> compile;
  std::function<std::string()> compiler;  ///< name for messages; fails (unsupported) if missing
};

/// Target compiled by Tern or by a device plugin of this machine. A plugin needs no device to compile; a target
/// NAME:... loads the plugin NAME alone. Fails (invalid_argument) for unknown targets, listing the known ones.
KernelTarget kernel_target(std::string_view name);

}  // namespace tern
