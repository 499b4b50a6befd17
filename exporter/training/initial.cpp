#include "exporter/training/initial.h"

#include <cmath>

#include "dtypes/convert.h"

namespace tern {

/// PyTorch's kernel is compiled for processors with fused multiplication and addition.
double PyTorchGenerator::uniform(DType dtype, double low, double high) {
  if (dtype == DType::f64) {
    const std::uint64_t upper = twister_();
    const std::uint64_t bits = upper << 32 | static_cast<std::uint32_t>(twister_());
    return std::fma(static_cast<double>(bits & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53, high - low, low);
  }
  const auto low_bound = static_cast<float>(low), high_bound = static_cast<float>(high);
  return std::fma(static_cast<float>(twister_() & ((1U << 24) - 1)) * 0x1p-24F, high_bound - low_bound, low_bound);
}

std::vector<std::byte> PyTorchGenerator::kaiming_uniform(const TensorType& matrix) {
  const std::int64_t rows = matrix.shape[0].value(), columns = matrix.shape[1].value();
  const double a = std::sqrt(5.0), gain = std::sqrt(2.0 / (1 + a * a));  // a * a is not quite 5
  const double bound = std::sqrt(3.0) * (gain / std::sqrt(static_cast<double>(columns)));
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  for (double& v : values) v = uniform(matrix.dtype, -bound, bound);
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(element_size(matrix.dtype)));
  convert(values.data(), DType::f64, bytes.data(), matrix.dtype, rows * columns);
  return bytes;
}

}  // namespace tern
