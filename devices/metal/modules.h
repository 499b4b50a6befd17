// Metal libraries compiled from kernel source, and the pipelines of their kernels.
#pragma once

#include <tern/device.h>

#include <string>

#include "devices/metal/devices.h"

namespace tern::metal {

struct Pipeline {
  Owned<MTL::ComputePipelineState> state;
  NS::UInteger max_threads = 0;    ///< largest threadgroup
  NS::UInteger usual_threads = 0;  ///< threadgroup size if the kernel requests none
};

/// Compiles without fast math: every operation has exactly its specified bits.
tern_device_status compile(const MetalDevice& device, const char* text, Owned<MTL::Library>& library);
tern_device_status pipeline(const MetalDevice& device, MTL::Library& library, const char* name, Pipeline& made);

tern_device_status module_load(std::int32_t device, const tern_device_source* source, tern_device_module* module);
tern_device_status module_unload(std::int32_t device, tern_device_module module);
tern_device_status module_kernel(std::int32_t device, tern_device_module module, const char* name,
                                 tern_device_kernel* kernel);

}  // namespace tern::metal
