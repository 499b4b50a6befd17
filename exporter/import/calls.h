// Operators that compute: lowered, strided views of memory, or operators of other libraries.
#pragma once

#include "exporter/import/results.h"
#include "exporter/pt2/aten_schema.h"

namespace tern::importing {

class Calls : ScopeUser {
 public:
  Calls(Scope& scope, Results& results) : ScopeUser(scope), results_(results) {}
  /// An operator that writes none of its arguments.
  void run(const pt2::Node& node, const pt2::Schema* schema, const Call& call);
  /// By the lowering that the call's target has.
  std::vector<ValueId> lower(const Call& call);

 private:
  void custom_call(const pt2::Node& node, const Call& call);
  bool strided_call(const pt2::Node& node, const Call& call);
  Results& results_;
};

}  // namespace tern::importing
