// cuDNN plans: operation graph, heuristic, engine, kernels. A plan needs a handle, or a described device only; the
// latter plans match that device but cannot run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "devices/gpu/cuda/cudnn_engines.h"
#include "devices/gpu/cuda/kept_plans.h"

namespace tern::gpu {

constexpr std::int64_t kMaxWorkspace = std::int64_t{256} << 20;  ///< most bytes of a plan's workspace

/// Treatment of a heuristic's first engine if its kernel must be compiled and the next engine's kernel is ready.
enum class Compiling {
  stays_first,
  gives_way,  ///< avoids about 0.2 s of compilation per plan
};

/// Lists engines in order of trial, without engines having one of the numerical notes `refused`.
std::vector<CudnnEngine> cudnn_candidates(const CudnnApi& api, const CudnnTarget& target,
                                          const cudnn::Descriptor& graph, std::span<const int> refused,
                                          Compiling compiling);

/// Returns null if every engine has one of the numerical notes `refused` or rejects the operations. `name` identifies
/// the operations and refused notes, and names the file of a plan with a compiled kernel.
std::unique_ptr<CudnnPlan> cudnn_plan(const CudnnTarget& target, const cudnn::Operations& operations,
                                      std::span<const int> refused, Compiling compiling, const PlanName& name);

}  // namespace tern::gpu
