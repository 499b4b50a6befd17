#include "tools/element_text.h"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <cstring>

#include "dtypes/convert.h"
#include "dtypes/packed_f4.h"
#include "dtypes/storage.h"
#include "tools/text.h"

namespace tern {
namespace {

/// fmt writes a whole number without a point.
template <typename Float>
std::string float_text(Float value) {
  std::string text = std::isnan(value) ? "nan" : fmt::format("{}", value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <typename Float>
std::string complex_text(std::complex<Float> value) {
  const std::string imaginary = float_text(value.imag());
  return float_text(value.real()) + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
}

template <typename T>
std::string text_of(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", +value);
  } else if constexpr (std::is_same_v<T, ComplexHalf>) {
    return complex_text(static_cast<std::complex<float>>(value));
  } else if constexpr (is_complex_v<T>) {
    return complex_text(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return float_text(value);
  } else {
    return float_text(static_cast<float>(value));
  }
}

}  // namespace

std::string element_text(const HostTensor& tensor, std::int64_t index) {
  if (tensor.dtype == DType::f4_e2m1) {
    const auto* packed = reinterpret_cast<const std::uint8_t*>(tensor.data.data());
    return float_text(static_cast<float>(load_f4(packed, index)));
  }
  return visit_dtype(tensor.dtype, [&]<typename T>(std::type_identity<T>) {
    T value{};
    std::memcpy(static_cast<void*>(&value), tensor.data.data() + static_cast<std::size_t>(index) * sizeof(T),
                sizeof(T));
    return text_of(value);
  });
}

std::string index_text(const HostTensor& tensor, std::int64_t index) {
  std::vector<std::int64_t> coordinates(tensor.sizes.size());
  for (std::size_t d = coordinates.size(); d-- > 0;) {
    coordinates[d] = index % tensor.sizes[d];
    index /= tensor.sizes[d];
  }
  return sizes_text(coordinates);
}

}  // namespace tern
