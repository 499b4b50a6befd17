// Results of constant computations as floats.
#pragma once

#include <tern/tensor.h>

#include <vector>

namespace tern::quantized {

/// Numbers in row-major order.
std::vector<float> numbers_of(const Tensor& value);

/// Numbers of `planes` matrices [.., k, n], each column by column.
std::vector<float> numbers_by_columns(const Tensor& value, std::int64_t planes = 1);

}  // namespace tern::quantized
