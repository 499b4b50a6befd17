// Rounding to the element types of microscaling: values stay float32, as PyTorch's emulation has them.
#pragma once

#include "exporter/builder.h"

namespace tern::microscaling {

/// An element type by torchao's name, and the properties that determine its scales.
struct NarrowFloat {
  std::string_view name;  ///< of a torch.dtype, or torchao's text
  DType dtype;
  int mantissa_bits;
  int least_exponent;  ///< of normal numbers
  int most_exponent;   ///< of the largest number
  double largest;
};

/// Null for another name.
const NarrowFloat* find_narrow_float(std::string_view name);
/// Finds the element type of a quantized value; null for types without MX blocks.
const NarrowFloat* find_narrow_float(DType dtype);

/// True if a program's tensors can have this element type: float8, not smaller types.
bool has_elements(const NarrowFloat& type);
/// float32 `x` as elements of such a type, rounded as by round_to.
ValueId elements_of(Builder& b, ValueId x, const NarrowFloat& type);
/// Rounds float32 `x` to the nearest number of the type, ties to even, and clamps to its largest number.
ValueId round_to(Builder& b, ValueId x, const NarrowFloat& type);

}  // namespace tern::microscaling
