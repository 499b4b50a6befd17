// Rows of a quantized value, by number.
#pragma once

#include "exporter/builder.h"
#include "exporter/quantize/format.h"

namespace tern::quantize {

/// The parts of a quantized matrix [rows, columns] as plain tensors, which lie in its bytes.
struct PlainParts {
  ValueId elements = kNoValue;  ///< [rows, columns]; two elements of four bits are one uint8
  ValueId scales = kNoValue;    ///< [rows, blocks]
  float outer = 1;
};

/// Adds what selects rows and makes numbers of them: [sizes of index, columns] of `result`. `rows` is the matrix's
/// type.
ValueId select_rows(Builder& b, const TensorType& rows, const PlainParts& parts, ValueId index, DType result);

}  // namespace tern::quantize
