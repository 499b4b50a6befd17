// Products whose activations are quantized in each run, as torchao's dynamic quantization does it.
#pragma once

#include "exporter/builder.h"
#include "exporter/passes/quantize/format.h"

namespace tern::quantize {

struct QuantizedRows {
  ValueId elements = kNoValue;  ///< int8 or float8_e4m3fn, of the activations' sizes
  ValueId scales = kNoValue;    ///< float32, one for each row: the last size is 1
};

/// Adds what quantizes rows of floats to int8, by torchao's Int8DynamicActivationInt8WeightConfig (the arithmetic of
/// integers.cpp), or to float8, by its Float8DynamicActivationFloat8WeightConfig (that of row_floats.cpp).
QuantizedRows quantize_rows(Builder& b, ValueId x, Activations activations);

/// Adds the product that `n` is, of those rows, elements [n, k] of the weight and their scales [n]: sums of the
/// elements' products, which are exact for integers and in float32 for float8, times both scales, plus the bias.
/// Returns the result, of the type that `n` has.
ValueId product_of_elements(Builder& b, const Node& n, const QuantizedRows& x, ValueId elements, ValueId scales);

constexpr std::int64_t kActivationBlock = 32;  ///< of Activations::mx

/// The element type of MX activations beside such a weight.
DType activation_element(const Format& weight);

/// The numbers of x in MX blocks along its last axis, which they divide: those of torchao's to_mx. They have the type
/// of x, or float32 where x is float16, which does not have all of them.
ValueId microscaled(Builder& b, ValueId x, DType element, MxScales scales);

}  // namespace tern::quantize
