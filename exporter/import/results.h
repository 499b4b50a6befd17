// Bindings of a call's results.
#pragma once

#include "exporter/import/scalars.h"

namespace tern::importing {

class Results : ScopeUser {
 public:
  Results(Scope& scope, Scalars& scalars) : ScopeUser(scope), scalars_(scalars) {}
  /// `view_of`: operand possibly viewed by results, or null. `first_node`: first node of the call.
  void bind(const pt2::Node& node, const std::vector<ValueId>& results, std::size_t first_node,
            const pt2::Argument* view_of, const Call& call);
  /// Notes a result of another type than PyTorch recorded.
  void check(const pt2::Node& node, const std::string& name, ValueId value);

 private:
  void part_of_complex(const std::string& target, ViewStep* step);
  bool copies(const pt2::Node& node, const pt2::Argument& viewed, const std::string& result_name,
              const Call& call) const;
  Scalars& scalars_;
};

}  // namespace tern::importing
