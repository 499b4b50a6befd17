// cuDNN plans for convolutions.
#pragma once

#include "devices/gpu/cuda/cudnn_plan.h"
#include "devices/gpu/libraries/convolution.h"

namespace tern::gpu {

/// Ids of a convolution's tensors in a variant pack.
enum ConvolutionTensor : std::int64_t { kConvolutionX = 1, kConvolutionW, kConvolutionBias, kConvolutionY };

/// Builds a graph of the convolution, its bias and ReLU.
cudnn::Operations convolution_operations(const CudnnApi& api, const Convolution& c, std::int64_t alignment);

/// Numerical notes of engines with too much rounding: rounded partial sums, float32 converted to a type of smaller
/// range, and tensor cores for exact convolutions.
std::vector<int> refused_notes(const Convolution& c);

/// Returns null if no engine supports the convolution with addresses aligned to `alignment`.
std::unique_ptr<CudnnPlan> convolution_plan(const CudnnApi& api, const CudnnTarget& target, const Convolution& c,
                                            std::int64_t alignment);

}  // namespace tern::gpu
