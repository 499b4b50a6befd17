// cuDNN plans for attention.
#pragma once

#include "devices/gpu/cuda/attention.h"
#include "devices/gpu/cuda/cudnn_plan.h"

namespace tern::gpu {

/// Ids of attention's tensors in a variant pack; the last two are host values.
enum AttentionTensor : std::int64_t {
  kAttentionQ = 1,
  kAttentionK,
  kAttentionV,
  kAttentionBias,
  kAttentionOut,
  kAttentionScale,
  kAttentionHidden,  ///< score of a masked key
};
/// Kernels access 16 bytes at a time.
constexpr std::int64_t kAttentionAlignment = 16;

/// Returns null if no engine supports the attention.
std::unique_ptr<CudnnPlan> attention_plan(const CudnnApi& api, const CudnnTarget& target, const Attention& a);

}  // namespace tern::gpu
