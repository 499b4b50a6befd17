// The compiler, and the compiler's files from the build.
#ifndef TERN_TESTS_GPU_AMD_TOOLCHAIN_H
#define TERN_TESTS_GPU_AMD_TOOLCHAIN_H

#include <filesystem>
#include <string>

namespace tern::gpu::amd {

std::filesystem::path clang();
std::filesystem::path device_libraries();     // bitcode of AMD's device libraries
std::filesystem::path headers_of_hip();       // hiprtc's implicit includes
std::filesystem::path precompiled_headers();  // the same for C++17 and gfx942
std::filesystem::path runtime_bitcode();      // runtime/runtime.c
std::filesystem::path library_calls();        // runtime/libcalls.c

// True if the device libraries and the compiler support the architecture: gfx90a, gfx942.
bool known_architecture(const std::string& name);

}  // namespace tern::gpu::amd

#endif
