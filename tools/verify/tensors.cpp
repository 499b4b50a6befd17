#include "tools/verify/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "dtypes/convert.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr std::int64_t kTensorsBlock = 4096;  // elements; even: a block of f4_e2m1 begins with a whole byte

enum class TensorsKind { real, complex, integer };
TensorsKind kind_of(DType t) {
  return is_complex(t) ? TensorsKind::complex : is_floating(t) ? TensorsKind::real : TensorsKind::integer;
}

std::string text_of(const Tensor& t) {
  return t.dtype() == DType::invalid ? "None" : fmt::format("{}{}", name_of(t.dtype()), sizes_text(t.sizes()));
}

const std::byte* element(const Tensor& t, std::int64_t index) {
  return static_cast<const std::byte*>(t.data()) + run_bytes(t.dtype(), index);
}

/// Elements of a tensor as doubles, two for each complex element.
struct DoubleBlock {
  explicit DoubleBlock(DType type)
      : dtype(type), values(static_cast<std::size_t>(kTensorsBlock) * (type == DType::c128 ? 2 : 1)) {}
  void read(const Tensor& t, std::int64_t begin, std::int64_t count) {
    convert(element(t, begin), t.dtype(), values.data(), dtype, count);
  }
  DType dtype;
  std::vector<double> values;
};

Deviation complex_deviation(const Tensor& reference, const Tensor& actual) {
  Deviation d;
  DoubleBlock r(DType::c128), a(DType::c128);
  for (std::int64_t i = 0; i < actual.numel(); i += kTensorsBlock) {
    const std::int64_t count = std::min(kTensorsBlock, actual.numel() - i);
    r.read(reference, i, count);
    a.read(actual, i, count);
    for (std::size_t k = 0; k < static_cast<std::size_t>(2 * count); ++k) d.add(r.values[k], a.values[k]);
  }
  return d;
}

Deviation real_deviation(const Tensor& reference, const Tensor& actual) {
  Deviation d;
  const std::int64_t columns = actual.sizes().empty() ? 1 : actual.sizes().back();
  FirstAnswers answers(columns);
  DoubleBlock r(DType::f64), a(DType::f64);
  for (std::int64_t i = 0; i < actual.numel(); i += kTensorsBlock) {
    const std::int64_t count = std::min(kTensorsBlock, actual.numel() - i);
    r.read(reference, i, count);
    a.read(actual, i, count);
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
      d.add(r.values[k], a.values[k]);
      if (columns > 1) answers.add(r.values[k], a.values[k], d);
    }
  }
  return d;
}

/// Integers of the same type are compared by their bytes, because double cannot represent all 64-bit integers.
Deviation integer_deviation(const Tensor& reference, const Tensor& actual) {
  Deviation d = real_deviation(reference, actual);
  if (reference.dtype() == actual.dtype()) {
    d.unequal = 0;
    const auto size = static_cast<std::size_t>(element_size(actual.dtype()));
    for (std::int64_t i = 0; i < actual.numel(); ++i)
      d.unequal += std::memcmp(element(reference, i), element(actual, i), size) == 0 ? 0 : 1;
  }
  d.rows = d.elements;
  d.same_rows = d.elements - d.unequal;
  return d;
}

}  // namespace

std::string mismatch(const Tensor& reference, const Tensor& actual) {
  const bool same = kind_of(reference.dtype()) == kind_of(actual.dtype()) && reference.sizes() == actual.sizes() &&
                    (reference.dtype() == DType::invalid) == (actual.dtype() == DType::invalid);
  return same ? std::string() : fmt::format("{}, not {}", text_of(actual), text_of(reference));
}

Deviation deviation_of(const Tensor& reference, const Tensor& actual) {
  switch (kind_of(actual.dtype())) {
    case TensorsKind::complex: return complex_deviation(reference, actual);
    case TensorsKind::real: return real_deviation(reference, actual);
    default: return integer_deviation(reference, actual);
  }
}

}  // namespace tern
