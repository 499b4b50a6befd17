// What only NVIDIA's libraries provide.
#pragma once

#include "devices/gpu/libraries/provider.h"

namespace tern::gpu {

/// convolution, by cuDNN.
bool has_convolution(const tern_device_op& op);
std::unique_ptr<LibraryNode> prepare_convolution(const GpuDevice& d, const tern_device_op& op, Activation activation);
/// attention, by cuDNN.
bool has_attention(const tern_device_op& op);
std::unique_ptr<LibraryNode> prepare_attention(const GpuDevice& d, const tern_device_op& op, Activation activation);
/// What cuDNN's attention needs that the device or the library has not; empty if it has all.
std::string attention_needs(const GpuDevice& d);

}  // namespace tern::gpu
