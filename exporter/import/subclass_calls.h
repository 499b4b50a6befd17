// Operators on quantized tensor subclasses.
#pragma once

#include "exporter/import/arguments.h"
#include "exporter/import/calls.h"

namespace tern::importing {

class SubclassCalls : ScopeUser {
 public:
  SubclassCalls(Scope& scope, Arguments& arguments, Results& results, Calls& calls)
      : ScopeUser(scope), arguments_(arguments), results_(results), calls_(calls) {}
  /// False for ordinary nodes: a subclass operand then stands for its numbers.
  bool call(const pt2::Node& node, std::string_view target);

 private:
  void access(const pt2::Node& node);
  bool view(const pt2::Node& node, std::string_view target);
  bool product(const pt2::Node& node, std::string_view target);
  std::shared_ptr<QuantizedTensor> quantized(const pt2::Argument* argument) const;

  Arguments& arguments_;
  Results& results_;
  Calls& calls_;
};

}  // namespace tern::importing
