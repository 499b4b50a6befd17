#include "devices/gpu/cuda/cudnn_plan.h"

#include <algorithm>

namespace tern::gpu {
namespace {

using namespace cudnn;

constexpr std::int64_t kMostWorkspace = std::int64_t{256} << 20;
constexpr std::int64_t kSumAlignment = 16;  // of what is never in memory: any that its type takes
constexpr std::size_t kMostEngines = 16;
constexpr std::size_t kMostNotes = 32;

/// The graph holds its operations, and they their tensors: cuDNN copies what it is given, so these may go.
Descriptor tensor(const CudnnApi& api, const Shape& shape, int type, Number number, std::int64_t alignment) {
  Descriptor d(api, kTensor);
  d.set(kTensorType, kTypeData, type).set(kTensorSizes, shape.sizes).set(kTensorStrides, shape.strides);
  d.set(kTensorNumber, kTypeInt64, std::int64_t{number}).set(kTensorAlignment, kTypeInt64, alignment);
  if (number == kSum || number == kBiased) d.set(kTensorVirtual, kTypeBoolean, true);
  d.finalize();
  return d;
}

Descriptor window(const CudnnApi& api, const Convolution& c, int compute) {
  Descriptor d(api, kConvolution);
  d.set(kConvolutionType, kTypeData, compute).set(kConvolutionMode, kTypeConvolutionMode, kCrossCorrelation);
  d.set(kConvolutionAxes, kTypeInt64, static_cast<std::int64_t>(c.before.size()));
  d.set(kConvolutionBefore, c.before).set(kConvolutionAfter, c.after);
  d.set(kConvolutionStrides, c.strides).set(kConvolutionDilations, c.dilations).finalize();
  return d;
}

Descriptor mode(const CudnnApi& api, int mode, int compute) {
  Descriptor d(api, kPointwise);
  d.set(kPointwiseMode, kTypePointwiseMode, mode).set(kPointwisePrecision, kTypeData, compute);
  if (mode == kRelu) d.set(kPointwiseNan, kTypeNan, kPropagateNan);  // ReLU of a NaN is one
  d.finalize();
  return d;
}

Descriptor bias(const CudnnApi& api, const Convolution& c, std::int64_t alignment) {
  Shape shape{std::vector<std::int64_t>(c.y.sizes.size(), 1), std::vector<std::int64_t>(c.y.sizes.size(), 1)};
  shape.sizes[1] = c.y.sizes[1];
  shape.strides[0] = c.y.sizes[1];
  return tensor(api, shape, c.type, kBias, alignment);
}

/// The operations, in order: what is between them is never in memory.
std::vector<Descriptor> operations(const CudnnApi& api, const Convolution& c, std::int64_t alignment) {
  const bool wide = c.type == kDouble;
  const int compute = wide ? kDouble : kFloat;
  const Descriptor x = tensor(api, c.x, c.type, kX, alignment), w = tensor(api, c.w, c.type, kW, alignment),
                   y = tensor(api, c.y, c.type, kY, alignment);
  const Descriptor sum = tensor(api, c.y, compute, kSum, kSumAlignment);
  const Descriptor biased = tensor(api, c.y, compute, kBiased, kSumAlignment);
  std::vector<Descriptor> all;
  Descriptor& forward = all.emplace_back(api, kConvolutionForward);
  forward.set(kForwardX, x).set(kForwardW, w).set(kForwardY, c.has_bias || c.has_relu ? sum : y);
  forward.set(kForwardConvolution, window(api, c, compute));
  if (wide) {
    forward.set(kForwardAlpha, kTypeDouble, 1.0).set(kForwardBeta, kTypeDouble, 0.0);
  } else {
    forward.set(kForwardAlpha, kTypeFloat, 1.0f).set(kForwardBeta, kTypeFloat, 0.0f);
  }
  forward.finalize();
  if (c.has_bias) {
    Descriptor& add = all.emplace_back(api, kPointwiseOperation);
    add.set(kPointwiseDescriptor, mode(api, kAdd, compute)).set(kPointwiseX, sum);
    add.set(kPointwiseB, bias(api, c, alignment)).set(kPointwiseY, c.has_relu ? biased : y).finalize();
  }
  if (c.has_relu) {
    Descriptor& relu = all.emplace_back(api, kPointwiseOperation);
    relu.set(kPointwiseDescriptor, mode(api, kRelu, compute)).set(kPointwiseX, c.has_bias ? biased : sum);
    relu.set(kPointwiseY, y).finalize();
  }
  return all;
}

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

/// Whether the engine rounds more than it may: parts of sums, float32 to a type of less range, and for tensor cores if
/// the convolution is an exact one.
bool rounds(const CudnnApi& api, const Descriptor& config, const Convolution& c) {
  Descriptor engine(api, kEngine);
  CudnnDescriptor handle = engine.handle();
  std::int64_t count = 0;
  if (api.get(config.handle(), kEngineConfigEngine, kTypeDescriptor, 1, &count, &handle) != kSuccess) return true;
  int notes[kMostNotes] = {};
  if (api.get(engine.handle(), kEngineNotes, kTypeNote, kMostNotes, &count, notes) != kSuccess) return true;
  return std::any_of(notes, notes + count, [&](int note) {
    return note == kReducesPrecision ||
           (c.type == kFloat && (note == kDownConverts || (c.is_exact && note == kTensorCore)));
  });
}

}  // namespace

std::unique_ptr<CudnnPlan> cudnn_plan(const CudnnApi& api, const CudnnTarget& target, const Convolution& c,
                                      std::int64_t alignment) {
  const std::vector<Descriptor> all = operations(api, c, alignment);
  std::vector<CudnnDescriptor> handles;
  for (const Descriptor& d : all) {
    if (!d.good()) return nullptr;
    handles.push_back(d.handle());
  }
  Descriptor graph(api, kGraph);
  graph.set(kGraphOperations, kTypeDescriptor, std::span<const CudnnDescriptor>(handles));
  if (target.handle != nullptr) graph.set(kGraphHandle, kTypeHandle, target.handle);
  if (!graph.finalize().good()) return nullptr;
  for (const int mode : {kModeA, kModeFallback}) {
    for (const Descriptor& config : engines(api, target, graph, mode)) {
      if (rounds(api, config, c)) continue;
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
