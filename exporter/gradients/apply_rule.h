// Gradients of one operation by its rule, for the _backward operators of joint graphs.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// Adds the nodes that compute the gradients of `forward`'s operands from `grads`, the gradients of its results.
/// `forward` itself is no node of the function: its operands are values of the function, and so are the results that
/// its rule reads. The gradients have the types of the operands; kNoValue for absent operands, and without
/// `needs_gradient` (empty: all are needed).
std::vector<ValueId> apply_gradient_rule(Builder& b, const Node& forward, std::vector<ValueId> grads,
                                         std::vector<bool> needs_gradient = {});

}  // namespace tern
