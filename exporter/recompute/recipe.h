// How each value of a function is made: what a pass needs to know to make it again elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schema/program.h"

namespace tern::recompute {

/// A node of the function as it was, and what it takes.
struct Recipe {
  const Node* node = nullptr;
  bool view = false;        ///< its result lies in the memory of its first operand
  bool repeatable = false;  ///< once more gives the same bits and does nothing else
  bool lasting = false;     ///< runs whether its results are read or not
  double cost = 0;          ///< bytes that it moves, and its floating-point operations in bytes
};

/// One for each node of the function, which must outlive them. `expressions`: the value of each node of the program's
/// pool. A node whose sizes they do not give is not repeatable.
std::vector<Recipe> recipes_of(const Program& program, const Function& function,
                               std::span<const std::int64_t> expressions);

/// Bytes of a contiguous tensor of this type; 0 where a size is not known.
std::uint64_t bytes_of(const TensorType& type, std::span<const std::int64_t> expressions);

}  // namespace tern::recompute
