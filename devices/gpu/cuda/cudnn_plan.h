// Plans of cuDNN: operation graph, heuristic, engine, kernels. They need a handle, or only a described device: then
// they cannot run, but are the plans of that device.
#pragma once

#include <memory>
#include <span>

#include "devices/gpu/cuda/cudnn_operations.h"

namespace tern::gpu {

/// What a plan is for: one of both.
struct CudnnTarget {
  CudnnHandle handle = nullptr;
  CudnnDescriptor device = nullptr;  ///< CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR
};

struct CudnnPlan {
  cudnn::Descriptor plan;
  std::int64_t workspace = 0;
};

/// Null where no engine takes the operations but those with one of the numerical notes `refused`.
std::unique_ptr<CudnnPlan> cudnn_plan(const CudnnTarget& target, const cudnn::Operations& operations,
                                      std::span<const int> refused);

}  // namespace tern::gpu
