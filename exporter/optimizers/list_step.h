// Builds the node optim from its lists.
#pragma once

#include <array>
#include <vector>

#include "exporter/builder.h"
#include "schema/optim.h"

namespace tern::optimizers {

struct ListStep {
  OptimKind kind{};
  std::vector<double> hyper;  ///< as OptimRecord::hyper
  std::int64_t mode = 0;
  bool maximize = false;
  std::array<std::vector<ValueId>, kOptimLists> lists;

  std::vector<ValueId>& operator[](OptimList list) { return lists[static_cast<std::size_t>(list)]; }
  const std::vector<ValueId>& operator[](OptimList list) const { return lists[static_cast<std::size_t>(list)]; }
};

/// Results of each list; empty for a list without results.
using ListResults = std::array<std::vector<ValueId>, kOptimLists>;

ListResults add_list_step(Builder& b, const ListStep& step);

}  // namespace tern::optimizers
