// Products of integers: rows of activations are quantized in each run.
#pragma once

#include "exporter/builder.h"

namespace tern::quantize {

struct QuantizedRows {
  ValueId elements = kNoValue;  ///< int8, of the activations' sizes
  ValueId scales = kNoValue;    ///< float32, one for each row: the last size is 1
};

/// Adds what quantizes rows of floats, by torchao's Int8DynamicActivationInt8WeightConfig: the arithmetic of
/// integers.cpp with a scale for each row.
QuantizedRows quantize_rows(Builder& b, ValueId x);

/// Adds the product that `n` is, of those rows, int8 elements [n, k] of the weight and their scales [n]: sums of
/// integers, times both scales, plus the bias. Returns the result, of the type that `n` has.
ValueId integer_product(Builder& b, const Node& n, const QuantizedRows& x, ValueId elements, ValueId scales);

}  // namespace tern::quantize
