// Compiles source for the emulated GPU and runs its kernels, for tests.
#ifndef TERN_TESTS_GPU_AMD_TESTS_LAUNCHER_H
#define TERN_TESTS_GPU_AMD_TESTS_LAUNCHER_H

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "tests/gpu/kernel.h"

namespace tern::gpu::amd {

class Library {
 public:
  explicit Library(const std::string& text, const std::vector<std::string>& options = {"-ffp-contract=off"});
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const tern_emulated_kernel& kernel(const std::string& name) const;

  struct Grid {
    std::array<std::uint32_t, 3> blocks{1, 1, 1}, threads{64, 1, 1};
    std::uint32_t local_bytes = 0;
  };
  // Arguments must have the kernel's declared sizes. A trap ends the process with its message on standard error.
  template <class... Arguments>
  void run(const std::string& name, const Grid& grid, const Arguments&... arguments) const {
    run_with(kernel(name), grid, std::vector<const void*>{static_cast<const void*>(&arguments)...});
  }

 private:
  void run_with(const tern_emulated_kernel& kernel, const Grid& grid, const std::vector<const void*>& arguments) const;
  void* handle_ = nullptr;
};

}  // namespace tern::gpu::amd

#endif
