// Checks the form of a compiled kernel by the target that it is for. The driver checks its meaning.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tern {

/// Empty for a well-formed module, and for targets that this version does not know; otherwise the error.
std::string module_problem(std::string_view target, std::span<const std::byte> bytes);

/// Lower case letters and digits of a device, a colon, and a form: "xpu:spirv", "cuda:sm_90", "rocm:gfx90a".
bool is_kernel_target(std::string_view target);

}  // namespace tern
