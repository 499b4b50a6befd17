// Rounding to the element types of microscaling: values stay float32, as PyTorch's emulation has them.
#pragma once

#include "exporter/builder.h"

namespace tern::microscaling {

/// An element type as torchao names it, and what its scales are chosen by.
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
/// Of the element type of a quantized value; null for one that is no MX element.
const NarrowFloat* find_narrow_float(DType dtype);

/// Whether numbers are elements of that type in a program: float8, and no smaller ones.
bool has_elements(const NarrowFloat& type);
/// float32 `x` as elements of such a type, rounded as by round_to.
ValueId elements_of(Builder& b, ValueId x, const NarrowFloat& type);
/// float32 `x`, rounded to the nearest number of the type, ties to even; beyond the largest one, that one.
ValueId round_to(Builder& b, ValueId x, const NarrowFloat& type);

}  // namespace tern::microscaling
