// Programs derived from the verified program: with other results, and with isolated nodes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tools/verify/symbols.h"

namespace tern {

/// The program with these values as results of the function.
std::shared_ptr<const Program> observing(const Program& program, std::uint32_t function,
                                         std::span<const ValueId> values);

/// Isolated nodes of a function: each takes its operands from the caller, even operands computed by another of the
/// nodes. Nothing is fused, and no error passes from a node to the next.
struct CutNodes {
  std::shared_ptr<const Program> program;
  std::vector<ValueId> operands;  ///< operands passed by the caller, as values of the whole function
  std::vector<ValueId> results;   ///< the same for the results
};

/// Sizes are fixed to the call's, because operands may not determine them.
CutNodes cut_nodes(const Program& program, std::uint32_t function, std::span<const std::uint32_t> nodes,
                   const CallSizes& sizes);

}  // namespace tern
