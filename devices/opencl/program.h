// OpenCL programs from kernel source, SPIR-V, or the disk cache.
#pragma once

#include <CL/cl.h>
#include <tern/device.h>

#include "devices/opencl/devices.h"

namespace tern::opencl {

/// Builds the source for the device.
tern_device_status build(const OpenClDevice& device, const tern_device_source& source, cl_program* program);

}  // namespace tern::opencl
