// Compiled modules and their kernels.
#pragma once

#include <tern/device.h>

#include <cstdint>

namespace tern::gpu {

tern_device_status module_load(std::int32_t device, const tern_device_source* source, tern_device_module* module);
tern_device_status module_unload(std::int32_t device, tern_device_module module);
tern_device_status module_kernel(std::int32_t device, tern_device_module module, const char* name,
                                 tern_device_kernel* kernel);
tern_device_status launch(std::int32_t device, tern_device_stream stream, tern_device_kernel kernel,
                          const tern_device_launch* l);

}  // namespace tern::gpu
