// Operands of products and convolutions as a matrix: a row for each row of the product, a column for each column of the
// quantized weight.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// Identifies the matrix: nodes with equal ones multiply the same rows.
struct MultipliedRows {
  ValueId value = kNoValue;
  Dims windows;  ///< sizes, strides, dilations and padding of a convolution's windows; empty for products

  friend bool operator==(const MultipliedRows&, const MultipliedRows&) = default;
};

MultipliedRows multiplied_rows(const Function& f, const Node& node);

/// Adds the matrix [rows, columns] in float32. Groups of a convolution lie one below the other.
ValueId add_multiplied_rows(Builder& b, const Node& node, std::int64_t columns);

}  // namespace tern
