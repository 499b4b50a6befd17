// Fusion: pointwise nodes are merged into the pointwise nodes that read them, and into the products and convolutions
// whose results they read; results keep their bits. lu_factor is merged into the lu_solve that alone reads its factors,
// which rounds in another order. Archives stay as they were exported: this is done when a program is prepared.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern {

struct FusedFunction {
  Function function;
  std::vector<std::uint32_t> numbers;  ///< for each node: its number as exported, for people
};

/// `products`: whether products and convolutions take epilogues, and rows' quotients nodes of their own: for kernels of
/// the CPU, where a node costs little. `solves`: whether lu_solve may have lu_factor in it (cpu::solves_unfactored).
FusedFunction fuse(Function exported, bool products = true, bool solves = false);
/// The function as it is.
FusedFunction unfused(Function exported);

}  // namespace tern
