// Plans of cuDNN for convolutions: operation graph, heuristic, engine, kernels. They need a handle, or only a described
// device: then they cannot run, but are the plans of that device.
#pragma once

#include <memory>

#include "devices/gpu/cuda/convolution.h"
#include "devices/gpu/cuda/cudnn_descriptor.h"

namespace tern::gpu {

/// What a plan is for: one of both.
struct CudnnTarget {
  CudnnHandle handle = nullptr;
  CudnnDescriptor device = nullptr;  ///< CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR
};

/// Numbers of the tensors in a pack of addresses.
namespace cudnn {
enum Number : std::int64_t { kX = 1, kW, kBias, kY, kSum, kBiased };
}

struct CudnnPlan {
  cudnn::Descriptor plan;
  std::int64_t workspace = 0;
};

/// Null where no engine takes the convolution with addresses that are multiples of `alignment`.
std::unique_ptr<CudnnPlan> cudnn_plan(const CudnnApi& api, const CudnnTarget& target, const Convolution& c,
                                      std::int64_t alignment);

}  // namespace tern::gpu
