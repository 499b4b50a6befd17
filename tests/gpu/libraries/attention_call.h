// Kernel parameters of the stand-in for cuDNN, for graphs of products, pointwise operations and reductions.
#pragma once

#include <cstdint>

namespace tern::stand_in {

struct AttentionCall {
  void (*function)(const void* graph);  ///< owned by the library
  const void* graph;
  std::uint64_t workspace, workspace_bytes;
};

constexpr const char* kAttentionKernel = "stand_in_attention";

}  // namespace tern::stand_in
