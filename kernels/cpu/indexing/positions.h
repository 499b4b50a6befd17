// Positions stored in tensors, checked against the size of the indexed axis.
#pragma once

#include <tern/error.h>

#include <cstdint>
#include <string>

#include "kernels/kernel.h"

namespace tern {

/// A contiguous tensor of int32 or int64.
class Positions {
 public:
  explicit Positions(const TensorView& v)
      : narrow_(v.dtype == DType::i32 ? v.as<std::int32_t>() : nullptr), wide_(v.as<std::int64_t>()) {}
  std::int64_t operator[](std::int64_t i) const { return narrow_ != nullptr ? narrow_[i] : wide_[i]; }
  /// Returns entry i; throws unless 0 <= entry < size.
  std::int64_t at(std::int64_t i, std::int64_t size) const {
    const std::int64_t p = (*this)[i];
    if (static_cast<std::uint64_t>(p) >= static_cast<std::uint64_t>(size)) out_of_range(p, size);
    return p;
  }
  /// Like `at`, but negative entries count from the end.
  std::int64_t wrapped(std::int64_t i, std::int64_t size) const {
    const std::int64_t p = (*this)[i];
    if (p < -size || p >= size) out_of_range(p, size);
    return p < 0 ? p + size : p;
  }

 private:
  [[noreturn]] static void out_of_range(std::int64_t p, std::int64_t size) {
    fail(ErrorCode::runtime,
         "index " + std::to_string(p) + " is out of range for an axis of size " + std::to_string(size));
  }
  const std::int32_t* narrow_;
  const std::int64_t* wide_;
};

}  // namespace tern
