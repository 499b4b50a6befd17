#include "devices/gpu/cuda/cudnn_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tern::gpu {
namespace {

using namespace cudnn;

bool may_run(const CudnnEngine& e, std::span<const int> refused) {
  return e.has_notes && std::ranges::find_first_of(e.notes, refused) == e.notes.end();
}

bool compiles(const CudnnEngine& e) {
  return std::ranges::find(e.behaviours, kCompiles) != e.behaviours.end();
}

}  // namespace

std::vector<CudnnEngine> cudnn_candidates(const CudnnApi& api, const CudnnTarget& target, const Descriptor& graph,
                                          std::span<const int> refused, Compiling compiling) {
  std::vector<CudnnEngine> all;
  for (const int mode : {kModeA, kModeFallback}) {
    std::vector<CudnnEngine> engines = cudnn_engines(api, target, graph, mode);
    std::erase_if(engines, [&](const CudnnEngine& e) { return !may_run(e, refused); });
    if (compiling == Compiling::gives_way && engines.size() > 1 && compiles(engines[0]) && !compiles(engines[1]))
      std::swap(engines[0], engines[1]);
    std::ranges::move(engines, std::back_inserter(all));
  }
  return all;
}

std::unique_ptr<CudnnPlan> cudnn_plan(const CudnnTarget& target, const Operations& operations,
                                      std::span<const int> refused, Compiling compiling, const PlanName& name) {
  const CudnnApi& api = operations.api();
  if (std::unique_ptr<CudnnPlan> plan = kept_plan(api, target, name)) return plan;
  const Descriptor graph = cudnn_graph(target, operations);
  if (!graph.is_valid()) return nullptr;
  for (const CudnnEngine& engine : cudnn_candidates(api, target, graph, refused, compiling)) {
    std::unique_ptr<CudnnPlan> plan = cudnn_plan(api, target, engine);
    if (plan == nullptr || plan->workspace > kMaxWorkspace) continue;
    if (compiles(engine)) keep_plan(api, target, name, *plan);
    return plan;
  }
  return nullptr;
}

}  // namespace tern::gpu
