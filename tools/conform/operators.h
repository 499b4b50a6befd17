// Which operators of PyTorch a program was made of, and what became of each.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

struct OperatorUse {
  std::string name;  ///< "aten.add_.Tensor", "higher_order.cond"
  std::set<std::string>
      ops;  ///< Tern's; empty for one that left no node: sizes, views of nothing, results nobody reads
  std::set<std::string> dtypes;  ///< of the tensors that go into these nodes from others and out to others
};

/// Sorted by name. Operators are found by the origins of nodes.
std::vector<OperatorUse> operators_of(const Program& program);

}  // namespace tern
