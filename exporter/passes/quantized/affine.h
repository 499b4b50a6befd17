// Pointwise nodes that take the numbers of integers: (q - zero) * scale.
#pragma once

#include <optional>

#include "schema/program.h"

namespace tern::quantized {

/// A number of the expression, or an operand of the node.
struct Parameter {
  ValueId value = kNoValue;
  double number = 0;
  bool is_number() const { return value == kNoValue; }
};

/// What a node computes of one int8 or uint8 operand.
struct Affine {
  ValueId integers = kNoValue;
  Parameter scale{kNoValue, 1}, zero{kNoValue, 0};
};

/// Nothing where the node computes something else, or not in float32.
std::optional<Affine> affine_of(const Function& f, const Node& n);

}  // namespace tern::quantized
