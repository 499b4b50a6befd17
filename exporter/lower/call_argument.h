// Calls of operators that lowerings make themselves, and their arguments.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporter/lower/lower.h"

namespace tern {

/// None for kNoValue.
inline CallArgument tensor_argument(ValueId value) {
  CallArgument a;
  if (value == kNoValue) return a;
  a.kind = CallArgumentKind::tensor;
  a.value = value;
  return a;
}
inline CallArgument integer_argument(Dim value) {
  CallArgument a;
  a.kind = CallArgumentKind::integer;
  a.integer = value;
  return a;
}
inline CallArgument boolean_argument(Dim value) {
  CallArgument a;
  a.kind = CallArgumentKind::boolean;
  a.integer = value;
  return a;
}
inline CallArgument number_argument(double value) {
  CallArgument a;
  a.kind = CallArgumentKind::number;
  a.number = value;
  return a;
}

/// A call of `target`. `declared`: types of its results. `torch_version`: the exporting PyTorch's, if the call belongs
/// to a program.
Call make_call(Builder& b, std::string target, std::vector<std::pair<std::string_view, CallArgument>> args,
               std::vector<TensorType> declared, std::string torch_version = {});

/// Results of the call by the lowering of its target. Fails (internal) if there is none.
std::vector<ValueId> lower_call(Builder& b, const Call& c);

}  // namespace tern
