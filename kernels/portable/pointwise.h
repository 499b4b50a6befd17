// A pointwise expression as text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/portable/source.h"
#include "schema/pointwise.h"

namespace tern::portable {

/// Statements computing the expression: `loads[k]` is the text of load k, `positions[a]` the text of index a. `result`
/// receives the name of the last instruction, of its dtype. Adds the needed library texts to `source`.
std::string emit_expression(KernelSource& source, const PointwiseExpr& expr, std::span<const std::string> loads,
                            std::span<const std::string> positions, std::string* result);

}  // namespace tern::portable
