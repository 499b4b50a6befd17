// Compiles the text of HIP kernels for the host's processor, by way of the IR that clang optimizes for an AMD GPU.
#ifndef TERN_TESTS_GPU_AMD_COMPILE_H
#define TERN_TESTS_GPU_AMD_COMPILE_H

#include <string>
#include <utility>
#include <vector>

namespace tern::gpu::amd {

struct CompileRequest {
  std::string text;
  std::string name = "kernel.hip";  // as messages name the text
  std::string architecture = "gfx942";
  std::vector<std::string> options;                          // for clang
  std::vector<std::pair<std::string, std::string>> headers;  // name and text of files that the text includes
};

struct CompileResult {
  bool ok = false;
  std::string library;  // a shared library that exports tern_emulated_kernels (tests/gpu/kernel.h)
  std::string log;      // warnings and errors of clang, or what cannot be emulated
};

// Safe to call from several threads. Uses the cache (cache.h).
CompileResult compile(const CompileRequest& request);

}  // namespace tern::gpu::amd

#endif
