#include "devices/gpu/cuda/cudnn_engines.h"

#include <algorithm>

namespace tern::gpu {
namespace {

using namespace cudnn;

constexpr std::size_t kMaxNotes = 32;

/// Reads numerical or behaviour notes of an engine; false if cuDNN does not report them.
bool read_notes(const CudnnApi& api, const Descriptor& engine, Attribute name, Type type, std::vector<int>* notes) {
  std::int64_t count = 0;
  notes->resize(kMaxNotes);
  const Status error = api.get(engine.handle(), name, type, kMaxNotes, &count, notes->data());
  notes->resize(error == kSuccess ? static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, kMaxNotes)) : 0);
  return error == kSuccess;
}

void describe(const CudnnApi& api, CudnnEngine& engine_info) {
  Descriptor engine(api, kEngine);
  CudnnDescriptor handle = engine.handle();
  std::int64_t count = 0;
  if (api.get(engine_info.config.handle(), kEngineConfigEngine, kTypeDescriptor, 1, &count, &handle) != kSuccess)
    return;
  api.get(engine.handle(), kEngineIndex, kTypeInt64, 1, &count, &engine_info.index);
  engine_info.has_notes = read_notes(api, engine, kEngineNotes, kTypeNote, &engine_info.notes);
  read_notes(api, engine, kEngineBehaviours, kTypeBehaviour, &engine_info.behaviours);
}

}  // namespace

Descriptor cudnn_graph(const CudnnTarget& target, const Operations& operations) {
  std::vector<CudnnDescriptor> handles;
  Descriptor graph(operations.api(), kGraph);
  for (const Descriptor& d : operations.descriptors()) {
    handles.push_back(d.handle());
    if (!d.is_valid()) graph.fail();
  }
  graph.set(kGraphOperations, kTypeDescriptor, std::span<const CudnnDescriptor>(handles));
  if (target.handle != nullptr) graph.set(kGraphHandle, kTypeHandle, target.handle);
  graph.finalize();
  return graph;
}

// Reads all proposals: for float32, about thirty tensor-core engines may precede the first exact engine.
std::vector<CudnnEngine> cudnn_engines(const CudnnApi& api, const CudnnTarget& target, const Descriptor& graph,
                                       int mode) {
  Descriptor heuristic(api, kHeuristic);
  heuristic.set(kHeuristicGraph, graph).set(kHeuristicMode, kTypeHeuristicMode, mode);
  if (target.device != nullptr) heuristic.set(kHeuristicDevice, kTypeDescriptor, target.device);
  std::vector<CudnnEngine> engines;
  if (!heuristic.finalize().is_valid()) return engines;
  std::int64_t count = 0;
  if (api.get(heuristic.handle(), kHeuristicResults, kTypeDescriptor, 0, &count, nullptr) != kSuccess) return engines;
  std::vector<CudnnDescriptor> handles;
  for (std::int64_t i = 0; i < count; ++i)
    handles.push_back(
        engines.emplace_back(CudnnEngine{Descriptor(api, kEngineConfig), mode, i, -1, {}, {}, false}).config.handle());
  if (api.get(heuristic.handle(), kHeuristicResults, kTypeDescriptor, std::ssize(handles), &count, handles.data()) !=
      kSuccess)
    count = 0;
  while (engines.size() > static_cast<std::size_t>(count)) engines.pop_back();
  for (CudnnEngine& engine_info : engines) describe(api, engine_info);
  return engines;
}

Descriptor plan_without_engine(const CudnnApi& api, const CudnnTarget& target) {
  Descriptor plan(api, kPlan);
  if (target.handle != nullptr) plan.set(kPlanHandle, kTypeHandle, target.handle);
  if (target.device != nullptr) plan.set(kPlanDevice, kTypeDescriptor, target.device);
  return plan;
}

std::unique_ptr<CudnnPlan> finalize_plan(const CudnnApi& api, Descriptor plan) {
  std::int64_t workspace = 0;
  std::int64_t count = 0;
  if (!plan.finalize().is_valid() ||
      api.get(plan.handle(), kPlanWorkspace, kTypeInt64, 1, &count, &workspace) != kSuccess)
    return nullptr;
  return std::make_unique<CudnnPlan>(CudnnPlan{std::move(plan), workspace});
}

std::unique_ptr<CudnnPlan> cudnn_plan(const CudnnApi& api, const CudnnTarget& target, const CudnnEngine& engine) {
  Descriptor plan = plan_without_engine(api, target);
  plan.set(kPlanEngineConfig, engine.config);
  return finalize_plan(api, std::move(plan));
}

}  // namespace tern::gpu
