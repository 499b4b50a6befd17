// Counting code of instructions, in counting kernels.
#pragma once

#include <string>
#include <string_view>

#include "tests/gpu/ptx/module.h"

namespace tern::emulated {

// A statement that counts the floating-point operations of the instruction: an fma is two, any other arithmetic
// operation one, for each value of a register. Tensor core operations count separately. Empty for other instructions.
std::string count_operations(const Instruction& instruction);

// The name of device.h's tern_access_kind for a memory instruction.
std::string_view access_kind(const Instruction& instruction);

}  // namespace tern::emulated
