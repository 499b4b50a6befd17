// Subgraphs as functions of their own.
#pragma once

#include <memory>

#include "exporter/import/scope.h"

namespace tern::importing {

class Walker;

struct Body {
  std::uint32_t function = 0;
  std::size_t outputs = 0;           ///< count of the subgraph's results; the new values of written operands follow
  std::vector<std::size_t> written;  ///< these operands
  std::vector<Binding> inputs;       ///< operands in the body's terms
  std::shared_ptr<Walker> walker;
};

class Bodies : ScopeUser {
 public:
  explicit Bodies(Scope& scope) : ScopeUser(scope) {}
  /// Creates the graph's function. `operands` give the types of its inputs; `mapped_count` of them, from `mapped_begin`
  /// on, lose their first axis.
  Body create(const std::string& name, const pt2::Graph& graph, const std::vector<Binding>& operands,
              std::size_t mapped_begin = 0, std::size_t mapped_count = 0);
};

/// Adds the new values of operands written by any body to the results of all bodies.
std::vector<std::size_t> add_written_results(const std::vector<Body*>& bodies);

}  // namespace tern::importing
