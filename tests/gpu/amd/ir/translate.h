// Translates LLVM's IR of AMD GPUs into IR of x86-64 processors with the export tern_emulated_kernels
// (tests/gpu/kernel.h).
#ifndef TERN_TESTS_GPU_AMD_IR_TRANSLATE_H
#define TERN_TESTS_GPU_AMD_IR_TRANSLATE_H

#include <string>
#include <string_view>

namespace tern::gpu::amd {

// The result needs the functions of runtime/. Throws Error with the name of an unsupported feature.
std::string translate(std::string_view ir);

}  // namespace tern::gpu::amd

#endif
