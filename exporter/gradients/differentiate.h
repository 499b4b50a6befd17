// Reverse-mode differentiation of a function of Tern's own ops: appends the nodes that compute gradients.
#pragma once

#include <span>
#include <vector>

#include "exporter/builder.h"

namespace tern {

struct BackwardFunctions;

/// Where gradients begin: dL/d(value) for a value of the function, of its dtype and shape. For a loss L of no
/// dimensions, `gradient` is a 1.
struct GradientSeed {
  ValueId value = kNoValue;
  ValueId gradient = kNoValue;
};

/// Appends to the function of `b` the nodes that compute, for each value of `wrt`, the sum over the seeds of
/// (d value / d wrt)^T gradient. Returns the gradients in the order of `wrt`, each of its value's dtype and shape;
/// kNoValue where nothing flows (the gradient is zero: zeros_like() makes one). Seeds of one value add up.
///
/// `wrt` are floating or complex values of the function: inputs, states (value_of_state of exporter/rewrite.h) or
/// results of nodes. Existing nodes keep their bits. A node can get results that it had not (the mean of a layer_norm
/// that nothing read), and a loop can be replaced by one that also stacks what each round began with.
///
/// The program must consist of Tern's ops as lowering gives them: call this before constants are folded and before
/// Stage::simplify (exporter/passes/pipeline.h), by ImportOptions::transform. States that training changes must be
/// marked `is_mutable` before constants are folded. Random nodes are not repeated: gradients read their numbers.
///
/// Fails (unsupported) where a gradient reaches an op that has none, or a use of an op that PyTorch does not
/// differentiate either; the message lists all ops without a rule at once, each with its Python line. The function is
/// then of no use any more.
std::vector<ValueId> differentiate(Builder& b, std::span<const GradientSeed> seeds, std::span<const ValueId> wrt);

/// The same inside of another differentiate(), whose backward functions it shares.
std::vector<ValueId> differentiate(Builder& b, std::span<const GradientSeed> seeds, std::span<const ValueId> wrt,
                                   BackwardFunctions& known);

/// Zeros of the type of a value.
ValueId zeros_like(Builder& b, ValueId value);
/// `gradient`, summed over the axes in which `like` broadcasts to it, and converted to the dtype of `like`: a complex
/// gradient of a real value is its real part.
ValueId gradient_like(Builder& b, ValueId gradient, ValueId like);
/// a + b; the other one where one is kNoValue.
ValueId add_gradients(Builder& b, ValueId a, ValueId c);

}  // namespace tern
