#include "python/binding/tensor_summary.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "dtypes/convert.h"

namespace tern::python {
namespace {

constexpr std::int64_t kSmall = 4096;  // elements; copied from a device as a whole

DType shown_type(DType t) {
  if (t == DType::i4 || t == DType::i2) return DType::i8;
  if (t == DType::c32) return DType::c64;
  return is_floating(t) && t != DType::f16 && element_size(t) < 4 ? DType::f32 : t;
}

/// Copies element `index` of memory beginning at `data`.
void put_element(const std::byte* data, DType from, std::int64_t index, std::byte* to, DType shown) {
  if (from == DType::i4 || from == DType::i2) {
    const int bits = 8 / elements_per_byte(from);
    const auto byte = std::to_integer<unsigned>(data[index / elements_per_byte(from)]);
    const int code = static_cast<int>(byte >> (index % elements_per_byte(from) * bits)) & ((1 << bits) - 1);
    *to = static_cast<std::byte>(code >= 1 << (bits - 1) ? code - (1 << bits) : code);
  } else if (from == DType::f4_e2m1) {
    float both[2];
    convert(data + index / 2, from, both, DType::f32, 2);
    std::copy_n(reinterpret_cast<const std::byte*>(&both[index % 2]), sizeof(float), to);
  } else {
    convert(data + index * element_size(from), from, to, shown, 1);
  }
}

/// Copies elements of a row on a device to the CPU.
Tensor row_on_host(const Tensor& t, std::int64_t offset, std::int64_t count, std::int64_t stride) {
  auto owner = std::make_shared<Tensor>(t);
  auto* const address = static_cast<std::byte*>(owner->data()) + offset * element_size(t.dtype());
  return Tensor::borrow_on(t.device(), address, t.dtype(), {count}, {stride}, owner).to("cpu");
}

}  // namespace

Tensor summary_of(const Tensor& t, std::int64_t edge) {
  const bool on_host = t.device() == "cpu";
  if (!on_host && (t.numel() <= kSmall || elements_per_byte(t.dtype()) > 1)) return summary_of(t.to("cpu"), edge);
  std::vector<std::int64_t> sizes;
  for (const std::int64_t s : t.sizes()) sizes.push_back(std::min(s, 2 * edge + 1));
  Tensor result(shown_type(t.dtype()), sizes);
  if (result.numel() == 0) return result;
  const std::vector<std::int64_t> strides = t.strides();
  const std::size_t rank = sizes.size();
  const std::int64_t length = rank == 0 ? 1 : sizes.back(), stride = rank == 0 ? 1 : strides.back();
  // Position of the k-th shown element along an axis.
  const auto place = [&](std::size_t axis, std::int64_t k) {
    return k <= edge || t.sizes()[axis] == sizes[axis] ? k : t.sizes()[axis] - sizes[axis] + k;
  };
  auto* to = static_cast<std::byte*>(result.data());
  const int bytes = element_size(result.dtype());
  const std::int64_t head = rank == 0 || sizes.back() == t.sizes().back() ? length : edge + 1;
  std::vector<std::int64_t> at(rank, 0);
  for (std::int64_t row = 0; row < result.numel() / length; ++row) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis + 1 < rank; ++axis) offset += place(axis, at[axis]) * strides[axis];
    for (const auto& [first, last] : {std::pair(std::int64_t{0}, head), std::pair(head, length)}) {
      if (first == last) continue;
      const std::int64_t begin = offset + (rank == 0 ? 0 : place(rank - 1, first)) * stride;
      const Tensor host = on_host ? Tensor() : row_on_host(t, begin, last - first, stride);
      const auto* const data = static_cast<const std::byte*>(on_host ? t.data() : host.data());
      for (std::int64_t k = first; k < last; ++k, to += bytes)
        put_element(data, t.dtype(), on_host ? begin + (k - first) * stride : k - first, to, result.dtype());
    }
    for (std::size_t axis = rank; axis-- > 1;) {
      if (++at[axis - 1] < sizes[axis - 1]) break;
      at[axis - 1] = 0;
    }
  }
  return result;
}

}  // namespace tern::python
