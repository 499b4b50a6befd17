// The targets of `tern export --target` whose kernels an archive can bring compiled.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/kernels/recording_device.h"
#include "schema/program.h"

namespace tern {

struct KernelTarget {
  std::string_view name;              ///< "xpu:spirv"
  DeviceKernel::Form form;            ///< of its modules
  std::span<const DeviceKind> kinds;  ///< of devices that take them
  std::vector<std::byte> (*compile)(const std::string& name, const std::string& text);
  std::string (*compiler)();  ///< for people
};

/// If the target does not exist, fails (invalid_argument) with the names of those that do.
const KernelTarget& kernel_target(std::string_view name);

}  // namespace tern
