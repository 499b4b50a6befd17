// The stand-ins' kernels in the emulated driver's format.
#pragma once

#include <string>

namespace tern::stand_in {

std::string image();

/// Compute capability, times ten, of the emulated NVIDIA GPU; 0 for AMD's.
int capability();

}  // namespace tern::stand_in
