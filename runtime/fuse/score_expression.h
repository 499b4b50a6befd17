// The expression of attention scores: the pointwise nodes between a product of queries and keys, or a mask, and the
// softmax, as one expression over operands that are smaller than the scores.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "runtime/fuse/expression.h"
#include "runtime/fuse/uses.h"

namespace tern {

class ScoreExpression {
 public:
  /// `scores`: sizes [..., heads, queries, keys]. Node `reader` evaluates the expression. Value `own` (or none) is the
  /// scaled score, load 0.
  ScoreExpression(FunctionInFusion& f, std::uint32_t reader, Dims scores, ValueId own);

  /// Returns the instruction that computes `v`, broadcast to the scores.
  std::uint16_t instruction(ValueId v);
  std::uint16_t own_score() { return builder_.load(kOwnResult, DType::f32); }
  ExpressionBuilder& builder() { return builder_; }

  /// Returns the expression of float32 instruction `result` as where(condition, score, -infinity), or without a
  /// condition if no key is hidden. Null if the expression is too long or has too many operands.
  std::optional<PointwiseExpr> finish(std::uint16_t result);
  bool has_condition() const { return has_condition_; }
  /// True if an operand or a position distinguishes heads or batches.
  bool depends_on_planes();
  /// True if the expression computes values of the size of all scores of a head.
  bool computes_scores() const { return computed_ > 0; }
  /// Operands of loads 1, 2, ...
  std::vector<ValueId> operands() const;

 private:
  bool spans_scores(ValueId v);
  bool is_broadcast(const Node& n);

  FunctionInFusion& f_;
  std::uint32_t reader_;
  Dims scores_;
  ValueId product_score_;
  ExpressionBuilder builder_;
  std::map<ValueId, std::uint16_t> instructions_;
  std::size_t computed_ = 0;
  bool has_condition_ = false, reads_planes_ = false;
};

/// Moves conditions that hide keys outermost: where(c, x, -infinity), also as an addend. Returns true if there is one.
bool move_condition_outermost(std::vector<Instruction>& code);

}  // namespace tern
