// Attention whose scores are changed or masked by pointwise nodes computes these itself, block by block: no tensor of
// queries times keys exists, and blocks without visible keys cost nothing.
#include <limits>
#include <optional>

#include "runtime/fuse/score_expression.h"
#include "runtime/fuse/uses.h"
#include "schema/epilogue.h"
#include "schema/expression_of.h"

namespace tern {
namespace {

constexpr std::size_t kMaskOperand = 3;
// A small mask is computed once for all heads and layers.
constexpr std::int64_t kSmallMask = 512 * 512;

/// Sizes of the scores of attention `n`.
Dims scores_of(FunctionInFusion& f, const Node& n) {
  Dims scores = f.type(n.outputs[0]).shape;
  const Dims& keys = f.type(n.inputs[1]).shape;
  scores.back() = keys[keys.size() - 2];
  return scores;
}

bool is_small(const Dims& scores) {
  const Dim queries = scores[scores.size() - 2], keys = scores.back();
  if (queries.is(1)) return true;
  return queries.is_const() && keys.is_const() && queries.value() * keys.value() <= kSmallMask;
}

}  // namespace

void join_mask(FunctionInFusion& f, std::uint32_t i) {
  const Node& n = f.f.nodes[i];
  if (n.inputs.size() <= kMaskOperand || n.inputs[kMaskOperand] == kNoValue || n.outputs[0] == kNoValue ||
      !n.expr.code.empty() || f.type(n.inputs[0]).dtype == DType::f64)
    return;
  const Dims scores = scores_of(f, n);
  if (is_small(scores)) return;
  const ValueId mask = n.inputs[kMaskOperand];
  ScoreExpression e(f, i, scores, kNoValue);
  std::uint16_t at = e.instruction(mask);
  if (!e.computes_scores()) return;
  const DType type = f.type(mask).dtype;
  PointwiseExpr masked;
  masked.code = {{Scalar::load, DType::f32, 0, 0, 0, 0}, {Scalar::load, type, 0, 0, 0, 1}};
  if (type == DType::boolean) {
    masked.code.push_back({Scalar::constant, DType::f32, 0, 0, 0, 0, -std::numeric_limits<double>::infinity()});
    masked.code.push_back({Scalar::where, DType::f32, 1, 0, 2});
  } else {
    masked.code.push_back({Scalar::convert, DType::f32, 1});
    masked.code.push_back({Scalar::add, DType::f32, 0, type == DType::f32 ? std::uint16_t{1} : std::uint16_t{2}});
    masked = expression_of(masked.code, 3);
  }
  const std::uint16_t loads[] = {e.own_score(), at};
  const std::optional<PointwiseExpr> expr = e.finish(e.builder().append(masked, loads));
  if (!expr || (!e.has_condition() && !e.depends_on_planes())) return;
  std::vector<ValueId> operands(n.inputs.begin(), n.inputs.begin() + kMaskOperand);
  operands.push_back(kNoValue);
  for (ValueId v : e.operands()) operands.push_back(v);
  f.f.nodes[i].expr = *expr;
  f.merge_nodes(i, {}, std::move(operands));
  f.remove_unread(mask);
}

}  // namespace tern
