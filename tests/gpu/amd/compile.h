// Compiles HIP source for the host's processor, through the IR that clang optimizes for an AMD GPU.
#ifndef TERN_TESTS_GPU_AMD_COMPILE_H
#define TERN_TESTS_GPU_AMD_COMPILE_H

#include <string>
#include <utility>
#include <vector>

namespace tern::gpu::amd {

struct CompileRequest {
  std::string text;
  std::string name = "kernel.hip";  // name of the source in messages
  std::string architecture = "gfx942";
  std::vector<std::string> options;                          // for clang
  std::vector<std::pair<std::string, std::string>> headers;  // name and contents of included files
};

struct CompileResult {
  bool ok = false;
  std::string library;  // a shared library with the export tern_emulated_kernels (tests/gpu/kernel.h)
  std::string log;      // warnings and errors of clang, or the unsupported feature
};

// Safe to call from several threads. Uses the cache (cache.h).
CompileResult compile(const CompileRequest& request);

}  // namespace tern::gpu::amd

#endif
