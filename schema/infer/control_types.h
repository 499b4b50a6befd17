// Result types of control flow, given its functions.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Pairs of sizes in which the outputs of a cond's branches may differ, ordered by output and axis: each needs a symbol
/// in the node's attribute `symbols`. Sizes depending on a symbol bound only inside a branch count as differing.
/// Branches must agree in dtypes and ranks.
std::vector<std::pair<Dim, Dim>> differing_sizes(const Program& program, ExprPool& pool, std::uint32_t on_true,
                                                 std::uint32_t on_false);

/// Symbols bound by nodes of a function.
std::vector<std::int64_t> bound_symbols(const Program& program, std::uint32_t function);

/// Tests if sizes depend on any of these symbols. Visits each expression once, even if shared by many sizes.
class Dependence {
 public:
  Dependence(const ExprPool& pool, std::vector<std::int64_t> symbols);
  bool operator()(Dim size);

 private:
  const ExprPool& pool_;
  std::vector<std::int64_t> symbols_;  ///< sorted
  std::unordered_map<std::uint32_t, bool> depends_;
};

}  // namespace tern
