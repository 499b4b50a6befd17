// The PyTorch operators of a program, and the Tern ops replacing each.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

struct OperatorUse {
  std::string name;           ///< "aten.add_.Tensor", "higher_order.cond"
  std::set<std::string> ops;  ///< Tern's ops; empty for an operator without nodes: sizes, no-op views, unread results
  std::set<std::string> dtypes;  ///< types of the tensors crossing the boundary of these nodes
};

/// Sorted by name. Operators are found by the origins of nodes.
std::vector<OperatorUse> operators_of(const Program& program);

}  // namespace tern
