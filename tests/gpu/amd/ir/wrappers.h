// Functions that pass operands from the IR to the C functions of runtime/.
#ifndef TERN_TESTS_GPU_AMD_IR_WRAPPERS_H
#define TERN_TESTS_GPU_AMD_IR_WRAPPERS_H

#include <string>

#include "tests/gpu/amd/ir/module.h"

namespace tern::gpu::amd {

// A wrapper for each of `module.runtime_calls`. Passes integers below 32 bits as 32, vectors and structures by address,
// and their results through a pointer after the operands. So the C functions need no vector types of clang.
std::string wrappers(const Module& module);

}  // namespace tern::gpu::amd

#endif
