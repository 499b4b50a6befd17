// Texts to code, by NVRTC or hiprtc.
#pragma once

#include <tern/device.h>

#include <string>

#include "devices/gpu/devices.h"

namespace tern::gpu {

/// The code of a text for the device: of the cache, else compiled and kept there.
tern_device_status compile(const GpuDevice& d, const tern_device_source& source, std::string* code);

/// The same for a target of archives, without the cache; no device is needed.
tern_device_status compile_for(const std::string& target, const tern_device_source& source, std::string* code);

}  // namespace tern::gpu
