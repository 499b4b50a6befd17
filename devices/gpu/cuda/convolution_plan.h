// Plans of cuDNN for convolutions.
#pragma once

#include "devices/gpu/cuda/cudnn_plan.h"
#include "devices/gpu/libraries/convolution.h"

namespace tern::gpu {

/// Numbers of a convolution's tensors in a pack of addresses.
enum ConvolutionTensor : std::int64_t { kConvolutionX = 1, kConvolutionW, kConvolutionBias, kConvolutionY };

/// The convolution, its bias and ReLU as one graph.
cudnn::Operations convolution_operations(const CudnnApi& api, const Convolution& c, std::int64_t alignment);

/// Numerical notes of engines that round more than they may: parts of sums, float32 to a type of less range, and for
/// tensor cores if the convolution is an exact one.
std::vector<int> refused_notes(const Convolution& c);

/// Null where no engine takes the convolution with addresses that are multiples of `alignment`.
std::unique_ptr<CudnnPlan> convolution_plan(const CudnnApi& api, const CudnnTarget& target, const Convolution& c,
                                            std::int64_t alignment);

}  // namespace tern::gpu
