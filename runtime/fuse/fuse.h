// Fusion merges pointwise nodes into the pointwise nodes and reductions reading them, and into the products and
// convolutions producing their operands; results keep their bits. With different rounding, lu_factor is merged into its
// only reader lu_solve, and attention computes its mask or the function of its scores. Fusion happens during
// preparation; archives hold the exported program.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern {

struct FusedFunction {
  Function function;
  std::vector<std::uint32_t> numbers;  ///< exported number of each node, for messages
};

/// `products`: products and convolutions take epilogues, reductions prologues, attention score functions, and per-row
/// quotients become nodes, for CPU kernels (nodes are cheap there). `solves`: lu_solve may absorb lu_factor
/// (cpu::solves_unfactored).
FusedFunction fuse(Function exported, bool products = true, bool solves = false);
/// Wraps the function unchanged.
FusedFunction unfused(Function exported);

}  // namespace tern
