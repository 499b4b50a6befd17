// Counts the nodes of a program.
#pragma once

#include <algorithm>

#include "schema/program.h"

namespace tern::testing {

/// Nodes of this op in the first function.
inline std::size_t count(const Program& p, Op op) {
  return static_cast<std::size_t>(std::ranges::count(p.functions[0].nodes, op, &Node::op));
}

}  // namespace tern::testing
