// Recipe of each value: a pass's information for recomputing it elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schema/program.h"

namespace tern::recompute {

/// Original node of the function, with its costs.
struct NodeRecipe {
  const Node* node = nullptr;
  bool view = false;        ///< the result lies in the first operand's memory
  bool repeatable = false;  ///< a repetition gives equal bits without side effects
  bool lasting = false;     ///< runs even without readers
  double cost = 0;          ///< moved bytes, plus floating-point operations in bytes
};

/// Recipe of each node of the function; the function must outlive them. `expressions`: value of each node of the
/// program's pool. Nodes with unknown sizes are not repeatable.
std::vector<NodeRecipe> recipes_of(const Program& program, const Function& function,
                                   std::span<const std::int64_t> expressions);

/// Bytes of a contiguous tensor of this type; 0 for unknown sizes.
std::uint64_t bytes_of(const TensorType& type, std::span<const std::int64_t> expressions);

}  // namespace tern::recompute
