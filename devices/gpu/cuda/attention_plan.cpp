#include "devices/gpu/cuda/attention_plan.h"

namespace tern::gpu {
namespace {

using namespace cudnn;

Shape transposed(Shape s) {
  std::swap(s.sizes[2], s.sizes[3]);
  std::swap(s.strides[2], s.strides[3]);
  return s;
}

/// softmax(q k^T * scale + bias) v, with the operations and order of the pattern that cuDNN's attention engines match.
/// Tensors are [batch, heads, rows, columns].
Operations operations(const CudnnApi& api, const Attention& a) {
  Operations graph(api, kFloat);
  const Shape scores = contiguous({a.out.sizes[0], a.out.sizes[1], a.q.sizes[2], a.k.sizes[2]});
  const Shape row_values = contiguous({scores.sizes[0], scores.sizes[1], scores.sizes[2], 1});
  const auto operand = [&](const Shape& s, AttentionTensor tensor_id) {
    return graph.operand(s, a.type, tensor_id, kAttentionAlignment);
  };
  const Descriptor dot_products = graph.intermediate(scores), scaled = graph.intermediate(scores);
  graph.matmul(operand(a.q, kAttentionQ), operand(transposed(a.k), kAttentionK), dot_products);
  const Descriptor scale = graph.value(4, kAttentionScale);
  graph.pointwise(kMul, dot_products, {.b = &scale}, scaled);

  const Descriptor biased = graph.intermediate(scores);
  if (a.has_mask()) {
    const Descriptor bias = graph.operand(a.bias(), a.bias_type, kAttentionBias, kAttentionAlignment);
    graph.pointwise(kAdd, scaled, {.b = &bias}, biased);
  }
  const Descriptor& unmasked = a.has_mask() ? biased : scaled;
  const Descriptor causal = graph.intermediate(scores);
  if (a.is_causal) {
    const Descriptor row = graph.intermediate(scores, kInt32), column = graph.intermediate(scores, kInt32);
    const Descriptor is_visible = graph.intermediate(scores, kBoolean), hidden_value = graph.value(4, kAttentionHidden);
    graph.pointwise(kGenIndex, unmasked, {.axis = 2}, row);
    graph.pointwise(kGenIndex, unmasked, {.axis = 3}, column);
    graph.pointwise(kCompareGe, row, {.b = &column}, is_visible);
    graph.pointwise(kSelect, unmasked, {.b = &hidden_value, .t = &is_visible}, causal);
  }
  const Descriptor& logits = a.is_causal ? causal : unmasked;

  const Descriptor row_max = graph.intermediate(row_values), shifted = graph.intermediate(scores),
                   exponentials = graph.intermediate(scores), row_sum = graph.intermediate(row_values),
                   log_row_sum = graph.intermediate(row_values), statistics = graph.intermediate(row_values),
                   probabilities = graph.intermediate(scores, a.type);
  graph.reduce(kReduceMax, logits, row_max);
  graph.pointwise(kSub, logits, {.b = &row_max}, shifted);
  graph.pointwise(kExp, shifted, {}, exponentials);
  graph.reduce(kReduceAdd, exponentials, row_sum);
  graph.pointwise(kLog, row_sum, {}, log_row_sum);  // unused, but required by the engines' pattern
  graph.pointwise(kAdd, row_max, {.b = &log_row_sum}, statistics);
  graph.pointwise(kDiv, exponentials, {.b = &row_sum}, probabilities);
  graph.matmul(probabilities, operand(a.v, kAttentionV), operand(a.out, kAttentionOut));
  return graph;
}

}  // namespace

std::unique_ptr<CudnnPlan> attention_plan(const CudnnApi& api, const CudnnTarget& target, const Attention& a) {
  constexpr int kRefusedNotes[] = {kReducesPrecision};
  PlanName name("attention");
  name.add(a.type).add(a.is_causal).add(a.q).add(a.k).add(a.v).add(a.out);
  if (a.has_mask()) name.add(a.bias_type).add(a.bias());
  return cudnn_plan(target, operations(api, a), kRefusedNotes, Compiling::stays_first, name);
}

}  // namespace tern::gpu
