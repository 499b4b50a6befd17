// Arguments of calls that lowerings make themselves.
#pragma once

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
inline CallArgument integer_argument(std::int64_t value) {
  CallArgument a;
  a.kind = CallArgumentKind::integer;
  a.integer = Dim(value);
  return a;
}
inline CallArgument number_argument(double value) {
  CallArgument a;
  a.kind = CallArgumentKind::number;
  a.number = value;
  return a;
}

}  // namespace tern
