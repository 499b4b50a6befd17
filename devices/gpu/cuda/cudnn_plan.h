// Plans of cuDNN: operation graph, heuristic, engine, kernels. They need a handle, or only a described device: then
// they cannot run, but are the plans of that device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "devices/gpu/cuda/cudnn_engines.h"
#include "devices/gpu/cuda/kept_plans.h"

namespace tern::gpu {

constexpr std::int64_t kMostWorkspace = std::int64_t{256} << 20;  ///< of a plan, bytes

/// What becomes of a heuristic's first engine where it compiles its kernel and the next one has its kernel ready.
enum class Compiling {
  stays_first,
  gives_way,  ///< compiling takes cuDNN some 0.2 s for each plan
};

/// Engines in the order in which they are tried, without those that have one of the numerical notes `refused`.
std::vector<CudnnEngine> cudnn_candidates(const CudnnApi& api, const CudnnTarget& target,
                                          const cudnn::Descriptor& graph, std::span<const int> refused,
                                          Compiling compiling);

/// Null where no engine takes the operations but those with one of the numerical notes `refused`. `name` tells the
/// operations and what is refused: a plan whose kernel cuDNN compiles is kept on disk under it.
std::unique_ptr<CudnnPlan> cudnn_plan(const CudnnTarget& target, const cudnn::Operations& operations,
                                      std::span<const int> refused, Compiling compiling, const PlanName& name);

}  // namespace tern::gpu
