// Whether bytes can be a SPIR-V module: its header, and instructions that follow each other to the end. What they mean
// is left to the driver.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tern {

/// Empty where they can; else what is wrong.
std::string spirv_problem(std::span<const std::byte> bytes);

}  // namespace tern
