#include "exporter/passes/quantized/numbers.h"

#include <algorithm>

#include "dtypes/convert.h"

namespace tern::quantized {

std::vector<float> numbers_of(const Tensor& value) {
  const Tensor dense = value.contiguous();
  std::vector<float> numbers(static_cast<std::size_t>(dense.numel()));
  convert(dense.data(), dense.dtype(), numbers.data(), DType::f32, dense.numel());
  return numbers;
}

std::vector<float> numbers_by_columns(const Tensor& value, std::int64_t planes) {
  constexpr std::int64_t kTile = 32;
  const auto sizes = value.sizes();
  const std::int64_t k = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1];
  const std::vector<float> rows = numbers_of(value);
  std::vector<float> columns(rows.size());
  for (std::int64_t p = 0; p < planes; ++p) {
    for (std::int64_t i = 0; i < k; i += kTile) {
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t r = i; r < std::min(k, i + kTile); ++r)
          columns[static_cast<std::size_t>((p * n + j) * k + r)] = rows[static_cast<std::size_t>((p * k + r) * n + j)];
      }
    }
  }
  return columns;
}

}  // namespace tern::quantized
