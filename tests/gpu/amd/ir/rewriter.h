// Rewrites a line of a GPU's IR for a CPU: a single address space, no scopes of synchronization, functions of runtime/
// instead of AMD's intrinsics.
#ifndef TERN_TESTS_GPU_AMD_IR_REWRITER_H
#define TERN_TESTS_GPU_AMD_IR_REWRITER_H

#include <string>
#include <string_view>

#include "tests/gpu/amd/ir/module.h"

namespace tern::gpu::amd {

class Rewriter {
 public:
  explicit Rewriter(const Module& module) : module_(module) {}
  // Adds the line's names to `references`.
  std::string line(std::string_view text, References& references);
  // Numbers the sites of later lines from here on: lanes of a wave pass smaller numbers first.
  void begin_block(unsigned order) { site_ = order * kSites; }
  static constexpr unsigned kSites = 1 << 12;  // sites per block

 private:
  void name(std::string_view& text, References& references);
  bool word(std::string_view& text);
  bool near_pointer(std::string_view& text);
  void assembly(std::string_view text);

  const Module& module_;
  std::string out_;
  unsigned site_ = 0;  // number of the next site where threads wait for each other
};

// Removes the address spaces of operands from the name: llvm.memcpy.p0.p4.i64 becomes llvm.memcpy.p0.p0.i64. Also
// replaces operations by the GPU's equivalents.
std::string portable_intrinsic(std::string_view name);
// True if runtime/ computes the function.
bool is_runtime_call(std::string_view name);
// The wrapper of a function of runtime/ with the types of the IR (wrappers.h).
std::string wrapper_name(std::string_view name);

}  // namespace tern::gpu::amd

#endif
