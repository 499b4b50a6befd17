// The bias and ReLU of a convolution by a kernel of Tern's, in place: MIOpen adds no bias of bfloat16, and its ReLU of
// a NaN is 0; cuDNN's engines that do both are slower for 16 bits than a second launch.
#pragma once

#include <tern/device.h>

#include "devices/gpu/devices.h"
#include "devices/gpu/libraries/convolution.h"

namespace tern::gpu {

/// For the type of the convolution, compiled once for each device. Null where the result's elements are not neighbours
/// in memory or 2^31 or more, the compiler is missing, or the driver refuses the kernel.
Function convolution_end(const GpuDevice& d, const Convolution& c);

/// On the convolution's result: adds the bias in float32 to what the library has rounded, and rounds once more.
tern_device_status end_convolution(Function end, Stream stream, const Convolution& c, Address bias, Address y);

}  // namespace tern::gpu
