// lu_solve including lu_factor: operands A, no pivots, B, and lu_factor's attribute `check`. Created during preparation
// (cpu::solves_unfactored); archives contain no such nodes.
#pragma once

#include <vector>

#include "schema/program.h"

namespace tern {

bool is_unfactored(const Node& node, const std::vector<const TensorType*>& inputs);
/// Like infer, for such nodes.
std::vector<TensorType> infer_unfactored(const Program& program, ExprPool& pool, const Node& node,
                                         const std::vector<const TensorType*>& inputs);

}  // namespace tern
