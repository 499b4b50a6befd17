// Texts to code, by NVRTC or hiprtc.
#pragma once

#include <tern/device.h>

#include <string>

#include "devices/gpu/devices.h"

namespace tern::gpu {

/// The code of a text for the device: of the cache, else compiled and kept there. It ends with a zero, as PTX must.
tern_device_status compile(const GpuDevice& d, const tern_device_source& source, std::string* code);

}  // namespace tern::gpu
