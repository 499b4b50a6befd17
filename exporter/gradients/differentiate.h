// Reverse-mode differentiation of a function of Tern's own ops: appends gradient nodes.
#pragma once

#include <span>
#include <vector>

#include "exporter/builder.h"

namespace tern {

struct BackwardFunctions;

/// Start of gradients: dL/d(value) for a value of the function, of its dtype and shape. A scalar loss L has `gradient`
/// 1.
struct GradientSeed {
  ValueId value = kNoValue;
  ValueId gradient = kNoValue;
};

/// Appends nodes to the function of `b`: for each value of `wrt`, the sum over the seeds of (d value / d wrt)^T
/// gradient. Returns the gradients in the order of `wrt`, each of its value's dtype and shape; kNoValue means a zero
/// gradient (zeros_like() creates one). Seeds of one value add up.
///
/// `wrt` are floating or complex values of the function: inputs, states (value_of_state of exporter/rewrite.h) or
/// results of nodes. Existing nodes compute the same bits. A node can gain results (an unread mean of layer_norm), and
/// a loop can be replaced by a loop with each round's initial values as stacked results.
///
/// The program must consist of Tern's ops as lowering gives them: call this before constants are folded and before
/// Stage::simplify (exporter/passes/pipeline.h), by ImportOptions::transform. States that training changes must be
/// marked `is_mutable` before constants are folded. Random nodes are not repeated: gradients read their numbers.
///
/// Fails (unsupported) if a gradient reaches an op without a rule, or a use of an op without derivative in PyTorch; the
/// message lists all ops without a rule, each with its Python line. The function is unusable afterwards.
std::vector<ValueId> differentiate(Builder& b, std::span<const GradientSeed> seeds, std::span<const ValueId> wrt);

/// Differentiates inside another differentiate(), sharing its backward functions.
std::vector<ValueId> differentiate(Builder& b, std::span<const GradientSeed> seeds, std::span<const ValueId> wrt,
                                   BackwardFunctions& functions);

/// Zeros of the type of a value.
ValueId zeros_like(Builder& b, ValueId value);
/// Sums `gradient` over the broadcast axes of `like`, and converts it to the dtype of `like`: a real value takes the
/// real part of a complex gradient.
ValueId gradient_like(Builder& b, ValueId gradient, ValueId like);
/// a + b; a missing operand (kNoValue) counts as zero.
ValueId add_gradients(Builder& b, ValueId a, ValueId c);

}  // namespace tern
