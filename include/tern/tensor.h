// A tensor of the caller's: memory, element type and sizes.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tern {

/// Contiguous, row-major. Copies of a Tensor share its memory (as shared_ptr does); a borrowed one must not outlive
/// what it borrows.
class TERN_API Tensor {
 public:
  Tensor() = default;
  /// Zeroed memory, 64-byte aligned. Throws Error (invalid_argument) for a negative size or one that overflows.
  Tensor(DType dtype, std::vector<std::int64_t> sizes);
  /// A tensor over the caller's memory, which must hold byte_size() bytes. A program that writes an input back writes
  /// there.
  static Tensor borrow(void* data, DType dtype, std::vector<std::int64_t> sizes);
  static Tensor borrow(const void* data, DType dtype, std::vector<std::int64_t> sizes);

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  std::int64_t numel() const;
  std::size_t byte_size() const { return bytes_; }
  void* data() { return data_; }
  const void* data() const { return data_; }
  template <class T>
  std::span<T> span() {
    return {static_cast<T*>(data_), bytes_ / sizeof(T)};
  }
  template <class T>
  std::span<const T> span() const {
    return {static_cast<const T*>(data_), bytes_ / sizeof(T)};
  }
  bool read_only() const { return read_only_; }
  /// A copy with memory of its own.
  Tensor clone() const;

 private:
  friend class SessionImpl;
  DType dtype_ = DType::invalid;
  std::vector<std::int64_t> sizes_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool read_only_ = false;
  std::shared_ptr<void> owner_;
};

}  // namespace tern
