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

/// Function of one int8 or uint8 operand: (integers - zero) * scale.
struct Affine {
  ValueId integers = kNoValue;
  Parameter scale{kNoValue, 1}, zero{kNoValue, 0};
};

/// Empty if the node computes another function, or not in float32.
std::optional<Affine> affine_of(const Function& f, const Node& n);

}  // namespace tern::quantized
