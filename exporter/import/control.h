// Control flow: subgraphs become functions, calls become nodes.
#pragma once

#include "exporter/import/bodies.h"
#include "exporter/import/results.h"

namespace tern::importing {

class ControlFlow : ScopeUser {
 public:
  /// `walker` walks inlined graphs.
  ControlFlow(Scope& scope, Scalars& scalars, Results& results, Walker& walker)
      : ScopeUser(scope), scalars_(scalars), results_(results), walker_(walker), bodies_(scope) {}
  /// `name`: of the higher-order operator.
  void call(const pt2::Node& node, std::string_view name);

 private:
  void cond(const pt2::Node& node);
  void while_loop(const pt2::Node& node);  // loops.cpp
  void scan(const pt2::Node& node);
  void map(const pt2::Node& node);
  void invoke_subgraph(const pt2::Node& node);
  void inline_graph(const pt2::Node& node, std::size_t graph_position, std::size_t operands_position);
  void inline_no_grad(const pt2::Node& node);

  const pt2::Graph& graph_of(const pt2::Node& node, std::size_t input) const;
  std::vector<ValueId> operand_values(const std::vector<Binding>& operands);
  void bind_control(const pt2::Node& node, std::span<const ValueId> results);
  void write_back(const std::vector<std::size_t>& written, const std::vector<Binding>& operands,
                  std::span<const ValueId> results);

  Scalars& scalars_;
  Results& results_;
  Walker& walker_;
  Bodies bodies_;
};

}  // namespace tern::importing
