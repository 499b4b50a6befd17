// Turns LLVM's IR of AMD GPUs into IR of x86-64 processors that exports tern_emulated_kernels (tests/gpu/kernel.h).
#ifndef TERN_TESTS_GPU_AMD_IR_TRANSLATE_H
#define TERN_TESTS_GPU_AMD_IR_TRANSLATE_H

#include <string>
#include <string_view>

namespace tern::gpu::amd {

// The result needs the functions of runtime/. Throws Error, which names what cannot be emulated.
std::string translate(std::string_view ir);

}  // namespace tern::gpu::amd

#endif
