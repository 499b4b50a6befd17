// Operators with written arguments: lowers the functional equivalent and writes its results back.
#pragma once

#include "exporter/import/arguments.h"
#include "exporter/import/calls.h"

namespace tern::importing {

class Mutations : ScopeUser {
 public:
  Mutations(Scope& scope, Arguments& arguments, Results& results, Calls& calls)
      : ScopeUser(scope), arguments_(arguments), results_(results), calls_(calls) {}
  void call(const pt2::Node& node, const pt2::Schema& schema);
  /// Handles batch_norm and similar ops in training: they update the running statistics, contrary to their schemas.
  /// False for other calls.
  bool batch_norm_training(const pt2::Node& node, const Call& call);

 private:
  bool special(const pt2::Node& node, const pt2::Schema& schema, const Call& call);
  Binding detach(const Binding& self);
  void resize(const pt2::Node& node, const Dims& sizes);
  Arguments& arguments_;
  Results& results_;
  Calls& calls_;
};

}  // namespace tern::importing
