// Unsupported features of a kernel, described for the author of the kernel or of the emulator.
#ifndef TERN_TESTS_GPU_AMD_ERROR_H
#define TERN_TESTS_GPU_AMD_ERROR_H

#include <stdexcept>

namespace tern::gpu::amd {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tern::gpu::amd

#endif
