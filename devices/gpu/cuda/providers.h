// Ops provided by NVIDIA's libraries only.
#pragma once

#include "devices/gpu/libraries/provider.h"

namespace tern::gpu {

/// convolution, by cuDNN.
bool has_convolution(const tern_device_op& op);
std::unique_ptr<VendorKernel> prepare_convolution(const GpuDevice& d, const tern_device_op& op, Activation activation);
/// attention, by cuDNN.
bool has_attention(const tern_device_op& op);
std::unique_ptr<VendorKernel> prepare_attention(const GpuDevice& d, const tern_device_op& op, Activation activation);
/// Describes requirements of cuDNN's attention not met by the device or the library; empty if all are met.
std::string attention_needs(const GpuDevice& d);

}  // namespace tern::gpu
