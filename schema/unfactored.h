// lu_solve with lu_factor in it: A, no pivots, B, and lu_factor's attribute `check`. The runtime makes such nodes when
// it prepares a program (cpu::solves_unfactored); archives do not have them.
#pragma once

#include <vector>

#include "schema/program.h"

namespace tern {

bool is_unfactored(const Node& node, const std::vector<const TensorType*>& inputs);
/// Like infer, for such a node.
std::vector<TensorType> infer_unfactored(const Program& program, ExprPool& pool, const Node& node,
                                         const std::vector<const TensorType*>& inputs);

}  // namespace tern
