// The supported intrinsics of AMD GPUs. Their functions in runtime/ use underscores: tern_amdgcn_rcp_f32 computes
// llvm.amdgcn.rcp.f32.
#ifndef TERN_TESTS_GPU_AMD_IR_INTRINSICS_H
#define TERN_TESTS_GPU_AMD_IR_INTRINSICS_H

#include <string>
#include <string_view>

namespace tern::gpu::amd {

enum class Intrinsic {
  unknown,
  plain,    // depends only on its operands and the thread's position
  wave,     // the lanes of a wave exchange values: the function takes the site number, too
  barrier,  // all threads of a block wait; takes the site number, too
  nothing,  // a hint for the scheduler or the memory system, without effect here
};

// `name` without "llvm.amdgcn.".
Intrinsic find_intrinsic(std::string_view name);
// tern_amdgcn_...
std::string runtime_function(std::string_view name);

}  // namespace tern::gpu::amd

#endif
