#include <fmt/format.h>
#include <tern/error.h>
#include <tern/tensor.h>

#include <algorithm>
#include <cstring>

#include "kernels/kernel.h"
#include "platform/memory.h"
#include "runtime/tensor_view.h"

namespace tern {
namespace {

std::size_t checked_bytes(DType dtype, const std::vector<std::int64_t>& sizes) {
  const int element = element_size(dtype);
  if (element == 0) fail(ErrorCode::invalid_argument, "a tensor needs an element type");
  std::uint64_t n = 1;
  bool empty = false;
  for (std::int64_t s : sizes) {
    if (s < 0) fail(ErrorCode::invalid_argument, fmt::format("a tensor cannot have the size {}", s));
    empty = empty || s == 0;
    if (s != 0 && (__builtin_mul_overflow(n, static_cast<std::uint64_t>(s), &n) || n > (std::uint64_t{1} << 58))) {
      fail(ErrorCode::invalid_argument, "the sizes of a tensor do not fit in memory");
    }
  }
  if (empty) return 0;
  const auto per = static_cast<std::uint64_t>(elements_per_byte(dtype));
  return (n + per - 1) / per * static_cast<std::uint64_t>(element);
}

/// Row-major strides, saturated where sizes of an empty tensor would overflow.
std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) {
    if (__builtin_mul_overflow(strides[i], std::max<std::int64_t>(sizes[i], 1), &strides[i - 1]))
      strides[i - 1] = INT64_MAX;
  }
  return strides;
}

bool is_row_major(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides, std::size_t bytes) {
  const std::vector<std::int64_t> dense = row_major(sizes);
  for (std::size_t i = 0; i < sizes.size() && bytes != 0; ++i) {
    if (sizes[i] != 1 && strides[i] != dense[i]) return false;
  }
  return true;
}

/// True if all distances between elements fit 63 bits, in bytes.
bool fits_addresses(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides, int element) {
  std::int64_t below = 0, above = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::int64_t distance = 0;
    std::int64_t& end = strides[i] < 0 ? below : above;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &distance) ||
        __builtin_mul_overflow(distance, element, &distance) || __builtin_add_overflow(end, distance, &end))
      return false;
  }
  std::int64_t all = 0;
  return !__builtin_sub_overflow(above, below, &all);
}

}  // namespace

Tensor::Tensor(DType dtype, std::vector<std::int64_t> sizes) : dtype_(dtype), sizes_(std::move(sizes)) {
  bytes_ = checked_bytes(dtype_, sizes_);
  const std::size_t rounded = (bytes_ + 63) / 64 * 64 + 64;
  owner_ = std::shared_ptr<void>(platform::allocate_aligned(64, rounded), platform::free_aligned);
  if (owner_ == nullptr) fail(ErrorCode::out_of_memory, fmt::format("{} bytes could not be allocated", bytes_));
  std::memset(owner_.get(), 0, rounded);
  data_ = owner_.get();
}

Tensor Tensor::borrow(void* data, DType dtype, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                      std::shared_ptr<void> owner) {
  Tensor t;
  t.bytes_ = checked_bytes(dtype, sizes);
  if (!strides.empty() && strides.size() != sizes.size())
    fail(ErrorCode::invalid_argument,
         fmt::format("a tensor has {} sizes but {} strides", sizes.size(), strides.size()));
  if (!strides.empty() && !is_row_major(sizes, strides, t.bytes_)) {
    if (sizes.size() > kMaxRank || elements_per_byte(dtype) != 1)
      fail(ErrorCode::invalid_argument,
           fmt::format("a strided tensor has at most {} dimensions and no elements that share a byte", kMaxRank));
    if (!fits_addresses(sizes, strides, element_size(dtype)))
      fail(ErrorCode::invalid_argument, "the strides of a tensor reach beyond all addresses; pass a contiguous copy");
    t.strides_ = std::move(strides);
  }
  t.dtype_ = dtype;
  t.sizes_ = std::move(sizes);
  t.data_ = data;
  t.owner_ = std::move(owner);
  return t;
}

Tensor Tensor::borrow(const void* data, DType dtype, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                      std::shared_ptr<void> owner) {
  Tensor t = borrow(const_cast<void*>(data), dtype, std::move(sizes), std::move(strides), std::move(owner));
  t.read_only_ = true;
  return t;
}

std::vector<std::int64_t> Tensor::strides() const {
  return strides_.empty() ? row_major(sizes_) : strides_;
}

std::int64_t Tensor::numel() const {
  std::int64_t n = 1;
  for (std::int64_t s : sizes_) n *= s;
  return n;
}

Tensor Tensor::clone() const {
  if (dtype_ == DType::invalid) return {};
  if (device_ != 0) return to(device());
  Tensor t(dtype_, sizes_);
  if (bytes_ == 0) return t;
  if (is_contiguous()) {
    std::memcpy(t.data_, data_, bytes_);
  } else {
    copy_strided(tensor_view(*this), tensor_view(t));
  }
  return t;
}

void Tensor::refuse_span(std::uint32_t types) const {
  if (dtype_ == DType::invalid) fail(ErrorCode::invalid_argument, "Tensor::span: the tensor has no elements");
  if (device_ != 0)
    fail(ErrorCode::invalid_argument,
         fmt::format("Tensor::span: the tensor is on {}; use span() of its to(\"cpu\")", device()));
  if ((types >> static_cast<int>(dtype_) & 1) != 0)
    fail(ErrorCode::invalid_argument, "Tensor::span: the tensor is strided; use span() of its contiguous()");
  std::string names;
  for (int t = 1; t < kTensorDTypeCount; ++t) {
    if ((types >> t & 1) != 0) names.append(names.empty() ? "" : ", ").append(name_of(static_cast<DType>(t)));
  }
  fail(ErrorCode::invalid_argument,
       fmt::format("Tensor::span: the elements are {}, but the type asked for is one for {}", name_of(dtype_),
                   names.empty() ? "none" : names));
}

TensorView tensor_view(const Tensor& t) {
  TensorView v;
  v.dtype = t.dtype();
  v.rank = static_cast<std::int32_t>(t.sizes().size());
  std::ranges::copy(t.sizes(), v.sizes.begin());
  if (t.is_contiguous()) {
    make_contiguous(v);
  } else {
    std::ranges::copy(t.strides(), v.strides.begin());
  }
  v.data = static_cast<std::byte*>(const_cast<void*>(t.data()));
  return v;
}

std::string text_of(DType dtype, std::span<const std::int64_t> sizes) {
  std::string text(name_of(dtype));
  text += '[';
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  return text + ']';
}

std::string text_of(const Tensor& t) {
  return text_of(t.dtype(), t.sizes());
}

}  // namespace tern
