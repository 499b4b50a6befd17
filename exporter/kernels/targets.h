// The targets of `tern export --target` whose kernels an archive can bring compiled.
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
  std::vector<DeviceKind> kinds;  ///< of devices that take its modules
  std::function<std::vector<std::byte>(const std::string& name, const std::string& text)> compile;
  std::function<std::string()> compiler;  ///< for people; fails (unsupported) where it is missing
};

/// A target that Tern or a device plugin of this machine compiles for; a plugin needs no device for that, and only the
/// plugin NAME of a target NAME:... is loaded. If the target does not exist, fails (invalid_argument) with the names of
/// those that do.
KernelTarget kernel_target(std::string_view name);

}  // namespace tern
