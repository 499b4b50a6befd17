// Traced vmap as a map over the batch.
#pragma once

#include "exporter/import/results.h"

namespace tern::importing {

class Vmaps : ScopeUser {
 public:
  Vmaps(Scope& scope, Results& results) : ScopeUser(scope), results_(results) {}
  /// Imports the vmap starting at nodes[begin]; returns the position behind its end.
  std::size_t import_region(const pt2::Graph& graph, std::span<const pt2::Node> nodes, std::size_t begin);

 private:
  Results& results_;
};

}  // namespace tern::importing
