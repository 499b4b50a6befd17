#include "devices/gpu/cuda/attention_plan.h"

namespace tern::gpu {
namespace {

using namespace cudnn;

Shape transposed(Shape s) {
  std::swap(s.sizes[2], s.sizes[3]);
  std::swap(s.strides[2], s.strides[3]);
  return s;
}

/// softmax(q k^T * scale + bias) v, in the exact operations and order matched by cuDNN's attention engines.
Operations operations(const CudnnApi& api, const Attention& a) {
  Operations all(api, kFloat);
  const Shape scores = contiguous({a.out.sizes[0], a.out.sizes[1], a.q.sizes[2], a.k.sizes[2]});
  const Shape rows = contiguous({scores.sizes[0], scores.sizes[1], scores.sizes[2], 1});
  const auto operand = [&](const Shape& s, AttentionTensor number) {
    return all.operand(s, a.type, number, kAttentionAlignment);
  };
  const Descriptor products = all.between(scores), scaled = all.between(scores);
  all.matmul(operand(a.q, kAttentionQ), operand(transposed(a.k), kAttentionK), products);
  const Descriptor scale = all.value(4, kAttentionScale);
  all.pointwise(kMul, products, {.b = &scale}, scaled);

  const Descriptor biased = all.between(scores);
  if (a.has_mask()) {
    const Descriptor bias = all.operand(a.bias(), a.bias_type, kAttentionBias, kAttentionAlignment);
    all.pointwise(kAdd, scaled, {.b = &bias}, biased);
  }
  const Descriptor& seen = a.has_mask() ? biased : scaled;
  const Descriptor causal = all.between(scores);
  if (a.is_causal) {
    const Descriptor row = all.between(scores, kInt32), column = all.between(scores, kInt32);
    const Descriptor is_seen = all.between(scores, kBoolean), hidden = all.value(4, kAttentionHidden);
    all.pointwise(kGenIndex, seen, {.axis = 2}, row);
    all.pointwise(kGenIndex, seen, {.axis = 3}, column);
    all.pointwise(kCompareGe, row, {.b = &column}, is_seen);
    all.pointwise(kSelect, seen, {.b = &hidden, .t = &is_seen}, causal);
  }
  const Descriptor& final = a.is_causal ? causal : seen;

  const Descriptor top = all.between(rows), below = all.between(scores), weights = all.between(scores),
                   total = all.between(rows), log_total = all.between(rows), statistics = all.between(rows),
                   shares = all.between(scores, a.type);
  all.reduce(kReduceMax, final, top);
  all.pointwise(kSub, final, {.b = &top}, below);
  all.pointwise(kExp, below, {}, weights);
  all.reduce(kReduceAdd, weights, total);
  all.pointwise(kLog, total, {}, log_total);  // unused, but required by the engines' pattern
  all.pointwise(kAdd, top, {.b = &log_total}, statistics);
  all.pointwise(kDiv, weights, {.b = &total}, shares);
  all.matmul(shares, operand(a.v, kAttentionV), operand(a.out, kAttentionOut));
  return all;
}

}  // namespace

std::unique_ptr<CudnnPlan> attention_plan(const CudnnApi& api, const CudnnTarget& target, const Attention& a) {
  constexpr int kRefused[] = {kReducesPrecision};
  PlanName name("attention");
  name.add(a.type).add(a.is_causal).add(a.q).add(a.k).add(a.v).add(a.out);
  if (a.has_mask()) name.add(a.bias_type).add(a.bias());
  return cudnn_plan(target, operations(api, a), kRefused, Compiling::stays_first, name);
}

}  // namespace tern::gpu
