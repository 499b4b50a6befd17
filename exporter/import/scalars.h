// Numbers computed by Python on the host during tracing.
#pragma once

#include "exporter/import/scope.h"

namespace tern::importing {

class Scalars : ScopeUser {
 public:
  explicit Scalars(Scope& scope) : ScopeUser(scope) {}
  /// A node of Python's own functions on numbers; false for others.
  bool call(const pt2::Node& node);
  /// Scalar read off a tensor; a node `item` binds it at run time.
  Binding from_tensor(const pt2::Node& node, ValueId value);
  /// Binds a number input: `value`, a tensor of no dimensions.
  void bind_number(const pt2::Graph& graph, const pt2::Argument& argument, ValueId value);
  void assert_dim(Dim condition, const std::string& text);

 private:
  Binding compute(const pt2::Node& node, std::string_view function, const std::vector<Binding>& args);
  Binding compute_real(const pt2::Node& node, std::string_view function, const std::vector<Binding>& args);
  Binding prefer_recorded(const pt2::Node& node, Binding fallback);
};

}  // namespace tern::importing
