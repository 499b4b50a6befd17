#include "tools/view/numbers.h"

#include <tern/error.h>

#include <algorithm>
#include <cstring>

#include "dtypes/convert.h"
#include "tools/view/weight.h"

namespace tern::view {

StateRows::StateRows(const Program& program, std::uint32_t state)
    : state_(program.states.at(state)), strides_(state_.strides) {
  const TensorType& t = state_.type;
  if (is_complex(t.dtype)) fail(ErrorCode::unsupported, "complex numbers have no histogram");
  std::int64_t count = 1;
  for (const Dim d : t.shape) {
    sizes_.push_back(d.value());
    if (__builtin_mul_overflow(count, d.value(), &count) || count > kMaxElements)
      fail(ErrorCode::unsupported, "too many numbers for a histogram");
  }
  columns_ = sizes_.empty() ? 1 : sizes_.back();
  rows_ = columns_ == 0 ? 0 : count / columns_;
  if (count == 0) return;
  elements_ = static_cast<std::int64_t>(program.storages.at(state_.storage).size) / element_size(t.dtype);
  storage_ = program.source->bytes(state_.storage).data();
  first_element_ = storage_ + state_.offset * element_size(t.dtype);
  row_.resize(static_cast<std::size_t>(columns_));
  if (!t.packed()) gathered_.resize(static_cast<std::size_t>(columns_ * element_size(t.dtype)));
}

bool StateRows::read_as(const quantize::MatrixPart& p) {
  if (state_.type.packed() || p.rows < 1 || p.columns < 1 || p.planes < 1) return false;
  const std::int64_t last =
      p.offset + (p.planes - 1) * p.plane_stride + (p.rows - 1) * p.row_stride + (p.columns - 1) * p.column_stride;
  if (p.offset < 0 || last >= elements_ || p.planes * p.rows > kMaxElements / p.columns) return false;
  sizes_ = {p.planes, p.rows, p.columns};
  strides_ = {p.plane_stride, p.row_stride, p.column_stride};
  rows_ = p.planes * p.rows;
  columns_ = p.columns;
  first_element_ = storage_ + p.offset * element_size(state_.type.dtype);
  row_.resize(static_cast<std::size_t>(columns_));
  gathered_.resize(static_cast<std::size_t>(columns_ * element_size(state_.type.dtype)));
  return true;
}

const std::byte* StateRows::element(std::int64_t row, std::int64_t column) const {
  std::int64_t at = column * (sizes_.empty() ? 0 : strides_.back());
  for (std::size_t axis = sizes_.size(); axis-- > 1;) {
    at += row % sizes_[axis - 1] * strides_[axis - 1];
    row /= sizes_[axis - 1];
  }
  return first_element_ + at * element_size(state_.type.dtype);
}

std::span<const double> StateRows::row(std::int64_t r) {
  const TensorType& t = state_.type;
  if (t.quantized()) {
    const QuantizedMatrix m = quantized_matrix(t);
    dequantized_.resize(row_.size());
    dequantize_row(m, first_element_, r, 0, columns_, dequantized_.data());
    std::ranges::copy(dequantized_, row_.begin());
    return row_;
  }
  if (t.packed()) {
    convert(first_element_ + r * columns_ / elements_per_byte(t.dtype) * element_size(t.dtype), t.dtype, row_.data(),
            DType::f64, columns_);
    return row_;
  }
  const auto size = static_cast<std::size_t>(element_size(t.dtype));
  for (std::int64_t c = 0; c < columns_; ++c)
    std::memcpy(gathered_.data() + static_cast<std::size_t>(c) * size, element(r, c), size);
  convert(gathered_.data(), t.dtype, row_.data(), DType::f64, columns_);
  return row_;
}

}  // namespace tern::view
