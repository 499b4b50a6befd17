// Computing operators: lowerings, strided views of memory, and operators of other libraries.
#pragma once

#include "exporter/import/results.h"
#include "exporter/pt2/aten_schema.h"

namespace tern::importing {

class Calls : ScopeUser {
 public:
  Calls(Scope& scope, Results& results) : ScopeUser(scope), results_(results) {}
  /// Runs an operator without written arguments.
  void run(const pt2::Node& node, const pt2::Schema* schema, const Call& call);
  /// Applies the lowering of the call's target.
  std::vector<ValueId> lower(const Call& call);

 private:
  void custom_call(const pt2::Node& node, const Call& call);
  bool strided_call(const pt2::Node& node, const Call& call);
  Results& results_;
};

}  // namespace tern::importing
