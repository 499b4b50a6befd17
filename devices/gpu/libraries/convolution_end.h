// Bias and ReLU of a convolution by a kernel of Tern, in place. MIOpen does not add bfloat16 biases and maps NaN to 0
// in ReLU; cuDNN's 16-bit engines with bias and ReLU are slower than a second launch.
#pragma once

#include <tern/device.h>

#include "devices/gpu/devices.h"
#include "devices/gpu/libraries/convolution.h"

namespace tern::gpu {

/// Returns the kernel for the convolution's type, compiled once per device. Null if the result is not dense, has 2^31
/// or more elements, the compiler is missing, or the driver refuses the kernel.
Function convolution_end(const GpuDevice& d, const Convolution& c);

/// Adds the bias to the library's rounded result in float32, applies ReLU, and rounds again.
tern_device_status end_convolution(Function end, Stream stream, const Convolution& c, Address bias, Address y);

}  // namespace tern::gpu
