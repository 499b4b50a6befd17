// The engines that cuDNN's heuristics propose for a graph of operations, and what they say of themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/gpu/cuda/cudnn_operations.h"

namespace tern::gpu {

/// What a plan is for: a handle or a described device.
struct CudnnTarget {
  CudnnHandle handle = nullptr;
  CudnnDescriptor device = nullptr;  ///< CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR
  /// For what plans on disk are: cuDNN's version, the device, the driver. Empty: none is kept.
  std::string keeps = {};
};

struct CudnnPlan {
  cudnn::Descriptor plan;
  std::int64_t workspace = 0;
};

struct CudnnEngine {
  cudnn::Descriptor config;
  int mode = 0;                        ///< of the heuristic that proposes it
  std::int64_t place = 0;              ///< in its order
  std::int64_t index = -1;             ///< cuDNN's own number, for people
  std::vector<int> notes, behaviours;  ///< numerical notes (how it rounds) and behaviour notes (how it is made)
  bool tells = false;                  ///< whether cuDNN gave its numerical notes
};

/// cuDNN's graph of the operations; not good() where it refuses them.
cudnn::Descriptor cudnn_graph(const CudnnTarget& target, const cudnn::Operations& operations);

/// All that the heuristic `mode` proposes, the fastest first.
std::vector<CudnnEngine> cudnn_engines(const CudnnApi& api, const CudnnTarget& target, const cudnn::Descriptor& graph,
                                       int mode);

/// A plan for the target, without an engine.
cudnn::Descriptor empty_plan(const CudnnApi& api, const CudnnTarget& target);
/// Null where cuDNN refuses it.
std::unique_ptr<CudnnPlan> finished_plan(const CudnnApi& api, cudnn::Descriptor plan);
/// Null where the engine does not take the graph after all.
std::unique_ptr<CudnnPlan> cudnn_plan(const CudnnApi& api, const CudnnTarget& target, const CudnnEngine& engine);

}  // namespace tern::gpu
