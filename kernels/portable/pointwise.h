// A pointwise expression as text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/portable/source.h"
#include "schema/pointwise.h"

namespace tern::portable {

/// Statements that compute the expression: `loads[k]` is the text of load k, `positions[a]` that of index a. The result
/// is `name` of the last instruction, of its dtype. Names the library texts that it needs in `source`.
std::string emit_expression(Source& source, const PointwiseExpr& expr, std::span<const std::string> loads,
                            std::span<const std::string> positions, std::string* result);

}  // namespace tern::portable
