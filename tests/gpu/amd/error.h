// What the emulator cannot do with a kernel, in words for the person who wrote the kernel or extends the emulator.
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
