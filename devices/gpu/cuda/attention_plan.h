// Plans of cuDNN for attention.
#pragma once

#include "devices/gpu/cuda/attention.h"
#include "devices/gpu/cuda/cudnn_plan.h"

namespace tern::gpu {

/// Numbers of attention's tensors in a pack of addresses; the last two lie on the host.
enum AttentionTensor : std::int64_t {
  kAttentionQ = 1,
  kAttentionK,
  kAttentionV,
  kAttentionBias,
  kAttentionOut,
  kAttentionScale,
  kAttentionHidden,  ///< score of a masked key
};
/// The kernels read and write parts of 16 bytes.
constexpr std::int64_t kAttentionAlignment = 16;

/// Returns null if no engine supports the attention.
std::unique_ptr<CudnnPlan> attention_plan(const CudnnApi& api, const CudnnTarget& target, const Attention& a);

}  // namespace tern::gpu
