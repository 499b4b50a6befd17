// The score function of an attention node (schema/epilogue.h), evaluated on blocks of scores. An expression
// where(condition, f(score), -infinity) is a mask: only blocks with visible and hidden keys evaluate the condition, and
// only blocks with visible keys evaluate f.
#pragma once

#include <memory>
#include <optional>

#include "kernels/cpu/attention/condition_bounds.h"
#include "kernels/cpu/pointwise/epilogue.h"

namespace tern::cpu {

class ScoreFunction : public KernelState {
 public:
  explicit ScoreFunction(const KernelCall& call);

  bool has_condition() const { return bounds_.has_value(); }
  /// True if f is the score itself.
  bool is_identity() const { return !function_; }

  /// The function on the operands of a run. Threads share an object.
  class Run {
   public:
    /// Requests memory from `arena`. If `arena` only counts, nothing else may be called.
    Run(const ScoreFunction& function, const KernelCall& call, ScratchArena& arena);
    Run(const Run&) = delete;

    bool has_condition() const { return function_.has_condition(); }
    bool is_identity() const { return function_.is_identity(); }
    /// Returns `mixed` if only hide() decides.
    Visibility visibility(const ScoreBlock& block) const;
    /// True if the condition is the same for all heads and batches.
    bool is_shared() const;
    /// Writes 0 for each visible key and -infinity for each hidden one to rows `row_step` apart.
    Visibility hide(const ScoreBlock& block, float* addends, std::int64_t row_step) const;
    /// Replaces scaled scores by f of them.
    void apply(const ScoreBlock& block, float* scores, std::int64_t row_step) const;

   private:
    void run(const pointwise::Epilogue& expression, const Node& node, const ScoreBlock& block, float* data,
             std::int64_t row_step) const;

    const ScoreFunction& function_;
    mutable TensorView scores_;
    mutable std::vector<TensorView> in_;  ///< three absent operands, then those of the expression
    std::optional<ConditionBounds::Ranges> ranges_;
  };

 private:
  TensorView scores_;  ///< sizes without memory
  Node hiding_node_, function_node_;
  std::unique_ptr<pointwise::Epilogue> hiding_, function_;
  std::optional<ConditionBounds> bounds_;
};

}  // namespace tern::cpu
