// The functions and tables through which the machine runs the kernels of a module (tests/gpu/kernel.h).
#ifndef TERN_TESTS_GPU_AMD_IR_ENTRIES_H
#define TERN_TESTS_GPU_AMD_IR_ENTRIES_H

#include <cstdint>
#include <string>

#include "tests/gpu/amd/ir/module.h"

namespace tern::gpu::amd {

// `local_bytes` is the size of all static variables in local memory.
std::string entries(const Module& module, std::uint64_t local_bytes);

}  // namespace tern::gpu::amd

#endif
