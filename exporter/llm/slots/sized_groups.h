// Nodes with sizes from a text's data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern {

struct SizedGroups {
  /// Group of each node, numbered by first nodes. A group's nodes run together, once per text; all other nodes have a
  /// group of their own.
  std::vector<std::size_t> group;
  std::vector<std::vector<std::size_t>> nodes;  ///< nodes of each group, in order
  std::vector<bool> sized;                      ///< per group: needs sizes from one text's data
  /// Nodes `item` giving sizes to each node; they must run before the node.
  std::vector<std::vector<std::size_t>> items;
  std::vector<bool> is_item;          ///< per node: true for an `item` node
  std::vector<std::int64_t> symbols;  ///< sizes from one text's data, sorted
};

/// `varies`: per value, true if it differs between texts.
SizedGroups find_sized_groups(const Program& program, const Function& f, const std::vector<bool>& varies);

}  // namespace tern
