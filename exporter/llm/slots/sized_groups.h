// Nodes whose sizes depend on a text's data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern {

struct SizedGroups {
  /// For each node the group that it belongs to: those run together, once for each text. Other nodes have one of their
  /// own. Groups are numbered by their first nodes.
  std::vector<std::size_t> group;
  std::vector<std::vector<std::size_t>> nodes;  ///< of each group, in their order
  std::vector<bool> sized;                      ///< for each group: needs sizes that one text's data give
  /// For each node the nodes `item` that give it sizes: whoever runs it runs them first.
  std::vector<std::vector<std::size_t>> items;
  std::vector<bool> is_item;          ///< for each node: such an item
  std::vector<std::int64_t> symbols;  ///< sizes that one text's data give, sorted
};

/// `varies`: for each value whether it differs from text to text.
SizedGroups find_sized_groups(const Program& program, const Function& f, const std::vector<bool>& varies);

}  // namespace tern
