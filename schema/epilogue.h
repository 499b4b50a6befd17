// Nodes that carry an epilogue: a pointwise expression that is applied to the op's own result. The runtime makes them
// when it prepares a program; archives do not have them.
#pragma once

#include <vector>

#include "schema/program.h"

namespace tern {

/// Operands of an op that may carry an epilogue, including absent ones. The expression's other operands follow them:
/// load 0 is the op's own result, with its bias; load k is operand kEpilogueOperands + k - 1.
inline constexpr std::size_t kEpilogueOperands = 3;

/// Whether the op may carry one: matmul and convolution, where the result is float32. The expression's value has that
/// type, too, or of products of 8-bit integers (`multiplies_bytes`) it may be such integers again.
bool takes_epilogue(Op op);
bool multiplies_bytes(const TensorType& a, const TensorType& b);

/// Like infer, for a node with an epilogue: the types of its outputs.
std::vector<TensorType> infer_with_epilogue(const Program& program, ExprPool& pool, const Node& node,
                                            const std::vector<const TensorType*>& inputs);

}  // namespace tern
