// Environment variables of the emulated AMD GPU, in addition to the machine's (tests/gpu/machine/settings.h).
#ifndef TERN_TESTS_GPU_HIP_SETTINGS_H
#define TERN_TESTS_GPU_HIP_SETTINGS_H

#include <string>

namespace tern::gpu::hip {

// TERN_EMULATOR_HIP_ARCHITECTURE: gfx942, or another architecture supported by the compiler and the device libraries.
std::string architecture();

struct Version {
  int major, minor, patch;
};
// TERN_EMULATOR_HIP_VERSION: 7.2, or 6.4.1.
Version version();

}  // namespace tern::gpu::hip

#endif
