// Collects the kernels, variables and functions of a module before its source is rewritten.
#ifndef TERN_TESTS_GPU_AMD_IR_READ_MODULE_H
#define TERN_TESTS_GPU_AMD_IR_READ_MODULE_H

#include <string>
#include <string_view>
#include <vector>

#include "tests/gpu/amd/ir/module.h"

namespace tern::gpu::amd {

// Splits the source into lines, and reads everything except the references of functions.
std::vector<std::string_view> lines_of(std::string_view text);
Module read_module(const std::vector<std::string_view>& lines);

// `text` from an opening bracket to the matching bracket.
std::string_view bracketed(std::string_view text);
// True if the line defines a kernel.
bool defines_kernel(std::string_view line);
// True if the line defines a variable in local memory.
bool defines_local(std::string_view line);

}  // namespace tern::gpu::amd

#endif
