// SPIR-V of kernels in OpenCL C, by clang and llvm-spirv.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tern {

/// The module of a kernel's text: SPIR-V 1.0, without contraction. A text that this process has compiled before is not
/// compiled again. Thread-safe. Fails (unsupported) where the programs are not installed, (internal) where they refuse
/// the text.
std::vector<std::byte> compile_spirv(const std::string& name, const std::string& text);

/// What compile_spirv runs, for people: "clang-15, llvm-spirv-15, spirv-val".
std::string spirv_compiler();

}  // namespace tern
