// Ops provided by AMD's libraries only.
#pragma once

#include "devices/gpu/libraries/provider.h"

namespace tern::gpu {

/// convolution, by MIOpen.
bool has_convolution(const tern_device_op& op);
std::unique_ptr<VendorKernel> prepare_convolution(const GpuDevice& d, const tern_device_op& op, Activation activation);

}  // namespace tern::gpu
