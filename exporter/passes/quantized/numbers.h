// What a constant computation gave, as floats.
#pragma once

#include <tern/tensor.h>

#include <vector>

namespace tern::quantized {

/// In row-major order.
std::vector<float> numbers_of(const Tensor& value);

/// Of matrices [.., k, n], `planes` of them, each column by column.
std::vector<float> numbers_by_columns(const Tensor& value, std::int64_t planes = 1);

}  // namespace tern::quantized
