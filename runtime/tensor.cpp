#include <fmt/format.h>
#include <tern/error.h>
#include <tern/tensor.h>

#include <cstdlib>
#include <cstring>

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

}  // namespace

Tensor::Tensor(DType dtype, std::vector<std::int64_t> sizes) : dtype_(dtype), sizes_(std::move(sizes)) {
  bytes_ = checked_bytes(dtype_, sizes_);
  const std::size_t rounded = (bytes_ + 63) / 64 * 64 + 64;
  owner_ = std::shared_ptr<void>(std::aligned_alloc(64, rounded), std::free);
  if (owner_ == nullptr) fail(ErrorCode::out_of_memory, fmt::format("{} bytes could not be allocated", bytes_));
  std::memset(owner_.get(), 0, rounded);
  data_ = owner_.get();
}

Tensor Tensor::borrow(void* data, DType dtype, std::vector<std::int64_t> sizes) {
  Tensor t;
  t.bytes_ = checked_bytes(dtype, sizes);
  t.dtype_ = dtype;
  t.sizes_ = std::move(sizes);
  t.data_ = data;
  return t;
}

Tensor Tensor::borrow(const void* data, DType dtype, std::vector<std::int64_t> sizes) {
  Tensor t = borrow(const_cast<void*>(data), dtype, std::move(sizes));
  t.read_only_ = true;
  return t;
}

std::int64_t Tensor::numel() const {
  std::int64_t n = 1;
  for (std::int64_t s : sizes_) n *= s;
  return n;
}

Tensor Tensor::clone() const {
  Tensor t(dtype_, sizes_);
  if (bytes_ != 0) std::memcpy(t.data_, data_, bytes_);
  return t;
}

}  // namespace tern
