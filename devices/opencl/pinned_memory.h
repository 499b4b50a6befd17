// The table "pinned_memory": buffers of OpenCL that lie in the host's memory, for devices that have memory of their
// own.
#pragma once

#include <tern/device.h>

namespace tern::opencl {

const tern_device_pinned_memory_functions* pinned_memory_functions();

}  // namespace tern::opencl
