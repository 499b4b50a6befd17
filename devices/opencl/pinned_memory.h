// The table "pinned_memory": OpenCL buffers in host memory, for devices with their own memory.
#pragma once

#include <tern/device.h>

namespace tern::opencl {

const tern_device_pinned_memory_functions* pinned_memory_functions();

}  // namespace tern::opencl
