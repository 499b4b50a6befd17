// Nodes with an expression besides pointwise nodes: an epilogue, applied to the op's own result, a prologue, computing
// the op's operand, or a score function of attention. Created during preparation; archives contain none of them.
#pragma once

#include <vector>

#include "schema/program.h"

namespace tern {

/// Number of operands of ops supporting an epilogue, including absent operands. The expression's further operands
/// follow: load 0 is the op's own result with bias; load k is operand kEpilogueOperands + k - 1.
inline constexpr std::size_t kEpilogueOperands = 3;

/// True if the op supports an epilogue: matmul and convolution with float32 results. The expression's value is float32
/// as well, or 8-bit integers for products of 8-bit integers (`multiplies_bytes`).
bool takes_epilogue(Op op);
bool multiplies_bytes(const TensorType& a, const TensorType& b);

/// True if the op supports a prologue: reduce. The expression reads the node's operands and computes the op's operand;
/// AttrKey::sizes are the sizes of the operand if the node's operands do not imply them.
bool takes_prologue(Op op);

/// Number of operands of attention, including absent operands. Operands of a score function follow: load 0 is the
/// scaled score, load k is operand kAttentionOperands + k - 1, broadcast to [..., heads, queries, keys].
inline constexpr std::size_t kAttentionOperands = 4;

/// True if the op supports a score function: attention of float32 scores. The expression gives float32 scores,
/// -infinity for a hidden key. Results 1 and 2 of such a node are the largest score of each query, and the sum of
/// exp(score - largest).
bool takes_score_function(Op op);

/// Like infer, for a node with one of these expressions: returns the output types.
std::vector<TensorType> infer_with_expression(const Program& program, ExprPool& pool, const Node& node,
                                              const std::vector<const TensorType*>& inputs);

}  // namespace tern
