// Checks the form of a compiled kernel for its target. The driver checks the meaning.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tern {

/// Returns an empty string for well-formed modules and unknown targets; otherwise the error.
std::string module_problem(std::string_view target, std::span<const std::byte> bytes);

/// True for lower-case letters and digits naming a device, a colon, and a form: "xpu:spirv", "cuda:sm_90",
/// "rocm:gfx90a".
bool is_kernel_target(std::string_view target);

}  // namespace tern
