// Checks the form of a SPIR-V module: its header, and instructions tiling the module exactly. The driver checks the
// meaning.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tern {

/// Returns an empty string for a well-formed module; otherwise the error.
std::string spirv_problem(std::span<const std::byte> bytes);

}  // namespace tern
