#include "devices/gpu/cuda/cudnn_plan.h"

#include <algorithm>

namespace tern::gpu {
namespace {

using namespace cudnn;

constexpr std::int64_t kMostWorkspace = std::int64_t{256} << 20;
constexpr std::size_t kMostEngines = 16;
constexpr std::size_t kMostNotes = 32;

/// The engines that a heuristic proposes, the fastest first.
std::vector<Descriptor> engines(const CudnnApi& api, const CudnnTarget& target, const Descriptor& graph, int mode) {
  Descriptor heuristic(api, kHeuristic);
  heuristic.set(kHeuristicGraph, graph).set(kHeuristicMode, kTypeHeuristicMode, mode);
  if (target.device != nullptr) heuristic.set(kHeuristicDevice, kTypeDescriptor, target.device);
  std::vector<Descriptor> all;
  if (!heuristic.finalize().good()) return all;
  std::vector<CudnnDescriptor> handles;
  for (std::size_t i = 0; i < kMostEngines; ++i) handles.push_back(all.emplace_back(api, kEngineConfig).handle());
  std::int64_t count = 0;
  if (api.get(heuristic.handle(), kHeuristicResults, kTypeDescriptor, static_cast<std::int64_t>(handles.size()), &count,
              handles.data()) != kSuccess)
    count = 0;
  while (all.size() > static_cast<std::size_t>(count)) all.pop_back();
  return all;
}

/// Whether the engine has one of these notes, or does not say.
bool has_note(const CudnnApi& api, const Descriptor& config, std::span<const int> refused) {
  Descriptor engine(api, kEngine);
  CudnnDescriptor handle = engine.handle();
  std::int64_t count = 0;
  if (api.get(config.handle(), kEngineConfigEngine, kTypeDescriptor, 1, &count, &handle) != kSuccess) return true;
  int notes[kMostNotes] = {};
  if (api.get(engine.handle(), kEngineNotes, kTypeNote, kMostNotes, &count, notes) != kSuccess) return true;
  return std::find_first_of(notes, notes + count, refused.begin(), refused.end()) != notes + count;
}

}  // namespace

std::unique_ptr<CudnnPlan> cudnn_plan(const CudnnTarget& target, const Operations& operations,
                                      std::span<const int> refused) {
  const CudnnApi& api = operations.api();
  std::vector<CudnnDescriptor> handles;
  for (const Descriptor& d : operations.all()) {
    if (!d.good()) return nullptr;
    handles.push_back(d.handle());
  }
  Descriptor graph(api, kGraph);
  graph.set(kGraphOperations, kTypeDescriptor, std::span<const CudnnDescriptor>(handles));
  if (target.handle != nullptr) graph.set(kGraphHandle, kTypeHandle, target.handle);
  if (!graph.finalize().good()) return nullptr;
  for (const int mode : {kModeA, kModeFallback}) {
    for (const Descriptor& config : engines(api, target, graph, mode)) {
      if (has_note(api, config, refused)) continue;
      Descriptor plan(api, kPlan);
      if (target.handle != nullptr) plan.set(kPlanHandle, kTypeHandle, target.handle);
      if (target.device != nullptr) plan.set(kPlanDevice, kTypeDescriptor, target.device);
      if (!plan.set(kPlanEngineConfig, config).finalize().good()) continue;
      std::int64_t workspace = 0;
      std::int64_t count = 0;
      if (api.get(plan.handle(), kPlanWorkspace, kTypeInt64, 1, &count, &workspace) != kSuccess ||
          workspace > kMostWorkspace)
        continue;
      return std::make_unique<CudnnPlan>(CudnnPlan{std::move(plan), workspace});
    }
  }
  return nullptr;
}

}  // namespace tern::gpu
