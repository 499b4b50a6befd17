// Arguments of nodes as operands of lowerings.
#pragma once

#include "exporter/import/scope.h"
#include "exporter/pt2/aten_schema.h"

namespace tern::importing {

class Arguments : ScopeUser {
 public:
  explicit Arguments(Scope& scope) : ScopeUser(scope) {}
  /// `schema` is null for operators of other libraries.
  Call bind(const pt2::Node& node, const pt2::Schema* schema);

 private:
  CallArgument operand(const pt2::Argument& argument);
  CallArgument operand(const pt2::Argument& argument, const pt2::SchemaType& type);
};

}  // namespace tern::importing
