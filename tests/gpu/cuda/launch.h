// Kernels and parameters in the driver API's form.
#pragma once

#include "tests/gpu/cuda/call.h"

namespace tern::emulator::cuda {

// Copies the parameters. cuLaunchKernel: "The number of kernel parameters and their offsets and sizes do not need to be
// specified as that information is retrieved directly from the kernel's image."
Launch launch_of(Machine& machine, CUfunction function, const unsigned (&grid)[3], const unsigned (&block)[3],
                 unsigned local_bytes, void** parameters, void** extra);

}  // namespace tern::emulator::cuda
