// Engines proposed by cuDNN's heuristics for a graph of operations, and their properties.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/gpu/cuda/cudnn_operations.h"

namespace tern::gpu {

/// Target of a plan: a handle or a described device.
struct CudnnTarget {
  CudnnHandle handle = nullptr;
  CudnnDescriptor device = nullptr;  ///< CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR
  /// Key of plans on disk: cuDNN's version, the device, the driver. Empty: plans are not stored.
  std::string plan_key = {};
};

struct CudnnPlan {
  cudnn::Descriptor plan;
  std::int64_t workspace = 0;
};

struct CudnnEngine {
  cudnn::Descriptor config;
  int mode = 0;                        ///< number of the proposing heuristic
  std::int64_t rank = 0;               ///< position in the heuristic's ranking
  std::int64_t index = -1;             ///< cuDNN's own number, for messages
  std::vector<int> notes, behaviours;  ///< numerical notes (rounding) and behaviour notes (compilation)
  bool has_notes = false;              ///< true if cuDNN reported the numerical notes
};

/// Creates cuDNN's graph of the operations; not is_valid() if cuDNN refuses the operations.
cudnn::Descriptor cudnn_graph(const CudnnTarget& target, const cudnn::Operations& operations);

/// Lists all proposals of the heuristic `mode`, fastest first.
std::vector<CudnnEngine> cudnn_engines(const CudnnApi& api, const CudnnTarget& target, const cudnn::Descriptor& graph,
                                       int mode);

/// Creates a plan for the target, without an engine.
cudnn::Descriptor plan_without_engine(const CudnnApi& api, const CudnnTarget& target);
/// Finalizes a plan and reads its workspace size; null if cuDNN refuses the plan.
std::unique_ptr<CudnnPlan> finalize_plan(const CudnnApi& api, cudnn::Descriptor plan);
/// Returns null if the engine refuses the graph after all.
std::unique_ptr<CudnnPlan> cudnn_plan(const CudnnApi& api, const CudnnTarget& target, const CudnnEngine& engine);

}  // namespace tern::gpu
