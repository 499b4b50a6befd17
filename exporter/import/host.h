// Operators to query sizes, read a number off a tensor, assert, or with no effect outside PyTorch.
#pragma once

#include "exporter/import/scalars.h"

namespace tern::importing {

class HostCalls : ScopeUser {
 public:
  HostCalls(Scope& scope, Scalars& scalars) : ScopeUser(scope), scalars_(scalars) {}
  /// False for computing operators. `target`: without "torch.ops.".
  bool call(const pt2::Node& node, std::string_view target);

 private:
  Scalars& scalars_;
};

}  // namespace tern::importing
