// Compiles kernel source by NVRTC or hiprtc.
#pragma once

#include <tern/device.h>

#include <string>

#include "devices/gpu/devices.h"

namespace tern::gpu {

/// Returns the compiled kernel source from the cache, or compiles the source and caches the result.
tern_device_status compile(const GpuDevice& d, const tern_device_source& source, std::string* code);

/// Compiles for a target of archives, without cache and device.
tern_device_status compile_for(const std::string& target, const tern_device_source& source, std::string* code);

}  // namespace tern::gpu
