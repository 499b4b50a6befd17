// SPIR-V of kernels in OpenCL C, by clang and llvm-spirv.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tern {

/// Module of a kernel's source: SPIR-V 1.0, without contraction. Each source is compiled once per process. Thread-safe.
/// Fails (unsupported) if the programs are not installed, (internal) if they reject the source.
std::vector<std::byte> compile_spirv(const std::string& name, const std::string& text);

/// Programs of compile_spirv, for messages: "clang-15, llvm-spirv-15, spirv-val".
std::string spirv_compiler();

}  // namespace tern
