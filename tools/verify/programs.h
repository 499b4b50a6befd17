// Programs made of the one that is verified: with other results, and of nodes that do not see each other.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tools/verify/symbols.h"

namespace tern {

/// The program, whose function gives these values instead of its results.
std::shared_ptr<const Program> observing(const Program& program, std::uint32_t function,
                                         std::span<const ValueId> values);

/// Nodes of a function, each alone: it takes its operands from the caller, also those that another of the nodes makes.
/// So nothing is fused, and no error passes from one node to the next.
struct CutNodes {
  std::shared_ptr<const Program> program;
  std::vector<ValueId> operands;  ///< what the caller gives, as values of the whole function
  std::vector<ValueId> results;   ///< the same for the results
};

/// Sizes are those of the call, so that no operand has to tell them.
CutNodes cut_nodes(const Program& program, std::uint32_t function, std::span<const std::uint32_t> nodes,
                   const CallSizes& sizes);

}  // namespace tern
