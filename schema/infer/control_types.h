// What types the results of control flow have, given the functions that it runs.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Pairs of sizes in which outputs of two branches of a cond may differ, in order of outputs and axes: each needs a
/// symbol in the node's attribute `symbols`. A size that depends on a symbol which only a branch binds counts as
/// differing. Branches must agree in dtypes and ranks.
std::vector<std::pair<Dim, Dim>> differing_sizes(const Program& program, ExprPool& pool, std::uint32_t on_true,
                                                 std::uint32_t on_false);

/// The symbols that nodes of a function bind.
std::vector<std::int64_t> bound_symbols(const Program& program, std::uint32_t function);

/// Tells of sizes whether they are expressions of one of these symbols. Looks at each expression once, however many
/// sizes share it.
class Dependence {
 public:
  Dependence(const ExprPool& pool, std::vector<std::int64_t> symbols);
  bool operator()(Dim size);

 private:
  const ExprPool& pool_;
  std::vector<std::int64_t> symbols_;  ///< sorted
  std::unordered_map<std::uint32_t, bool> known_;
};

}  // namespace tern
