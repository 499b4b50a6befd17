// The stand-ins' kernels as the emulated driver loads them.
#pragma once

#include <string>

namespace tern::stand_in {

std::string image();

/// Compute capability, times ten, of the emulated NVIDIA GPU; 0 for AMD's.
int capability();

}  // namespace tern::stand_in
