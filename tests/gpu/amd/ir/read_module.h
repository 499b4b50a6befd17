// Collects the kernels, variables and functions of a module before its text is rewritten.
#ifndef TERN_TESTS_GPU_AMD_IR_READ_MODULE_H
#define TERN_TESTS_GPU_AMD_IR_READ_MODULE_H

#include <string>
#include <string_view>
#include <vector>

#include "tests/gpu/amd/ir/module.h"

namespace tern::gpu::amd {

// The lines of a text, and a module that knows all but what its functions mention.
std::vector<std::string_view> lines_of(std::string_view text);
Module read_module(const std::vector<std::string_view>& lines);

// `text` from an opening bracket to the one that closes it.
std::string_view bracketed(std::string_view text);
// Whether the line defines a kernel.
bool defines_kernel(std::string_view line);
// Whether the line defines a variable in local memory.
bool defines_local(std::string_view line);

}  // namespace tern::gpu::amd

#endif
