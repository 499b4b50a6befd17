// Positions stored in tensors, checked against the size of the indexed axis.
#pragma once

#include <tern/error.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "dtypes/levels.h"
#include "kernels/kernel.h"

namespace tern {

/// A tensor of int32 or int64; entries count in memory.
class Positions {
 public:
  explicit Positions(const TensorView& v)
      : narrow_(v.dtype == DType::i32 ? v.data_as<std::int32_t>() : nullptr), wide_(v.data_as<std::int64_t>()) {}
  std::int64_t operator[](std::int64_t i) const { return narrow_ != nullptr ? narrow_[i] : wide_[i]; }
  /// Returns entry i; throws unless 0 <= entry < size.
  std::int64_t checked_at(std::int64_t i, std::int64_t size) const { return checked((*this)[i], size); }
  /// Returns `p`; throws unless 0 <= p < size.
  static std::int64_t checked(std::int64_t p, std::int64_t size) {
    if (static_cast<std::uint64_t>(p) >= static_cast<std::uint64_t>(size)) out_of_range(p, size);
    return p;
  }
  /// Like `at`, but negative entries count from the end.
  std::int64_t wrapped(std::int64_t i, std::int64_t size) const {
    const std::int64_t p = (*this)[i];
    if (p < -size || p >= size) out_of_range(p, size);
    return p < 0 ? p + size : p;
  }
  /// Throws unless 0 <= entry < size for `count` entries from `first` on.
  void check(std::int64_t first, std::int64_t count, std::int64_t size) const {
    visit(first, [&](const auto* entries) {
      using Entry = std::remove_cvref_t<decltype(*entries)>;
      Entry is_outside = 0;
      const auto last = static_cast<Entry>(std::min<std::int64_t>(size - 1, std::numeric_limits<Entry>::max()));
      visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd reduction(| : is_outside)
        for (std::int64_t i = 0; i < count; ++i)
          is_outside |= entries[i] < 0 || entries[i] > last ? Entry{1} : Entry{0};
      });
      if (is_outside == 0) return;
      for (std::int64_t i = 0; i < count; ++i) checked(entries[i], size);
    });
  }
  /// Calls f with a pointer to entry `first`.
  template <class F>
  void visit(std::int64_t first, F&& f) const {
    if (narrow_ != nullptr) return f(narrow_ + first);
    f(wide_ + first);
  }
  /// to[i] += scale times entry first + i * stride, `wrapped` by `size`, for `count` entries.
  void add(std::int64_t first, std::int64_t stride, std::int64_t count, std::int64_t size, std::int64_t scale,
           std::int64_t* to) const {
    if (narrow_ != nullptr) return add_entries(narrow_ + first, stride, count, size, scale, to);
    add_entries(wide_ + first, stride, count, size, scale, to);
  }
  /// to[i] = to[i] * size + entry first + i, `wrapped` by `size`, for `count` entries.
  void append(std::int64_t first, std::int64_t count, std::int64_t size, std::int64_t* to) const {
    if (narrow_ != nullptr) return append_entries(narrow_ + first, count, size, to);
    append_entries(wide_ + first, count, size, to);
  }

 private:
  template <class T>
  static void append_entries(const T* entries, std::int64_t count, std::int64_t size, std::int64_t* to) {
    std::int64_t is_outside = 0;
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd reduction(| : is_outside)
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t p = entries[i], position = p + (size & (p >> 63));
        is_outside |= position | (size - 1 - position);  // negative if one of them is
        to[i] =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(to[i] * size) + static_cast<std::uint64_t>(position));
      }
    });
    if (is_outside >= 0) return;
    for (std::int64_t i = 0; i < count; ++i) {
      if (entries[i] < -size || entries[i] >= size) out_of_range(entries[i], size);
    }
  }

  template <class T>
  static void add_entries(const T* entries, std::int64_t stride, std::int64_t count, std::int64_t size,
                          std::int64_t scale, std::int64_t* to) {
    std::int64_t is_outside = 0;
    const auto loop = [&](std::int64_t step) __attribute__((always_inline)) {
#pragma omp simd reduction(| : is_outside)
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t p = entries[i * step], position = p + (size & (p >> 63));
        is_outside |= position | (size - 1 - position);  // negative if one of them is
        to[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(to[i]) +
                                          static_cast<std::uint64_t>(position) * static_cast<std::uint64_t>(scale));
      }
    };
    visit_cpu_level([&](auto) __attribute__((always_inline)) { stride == 1 ? loop(1) : loop(stride); });
    if (is_outside >= 0) return;
    for (std::int64_t i = 0; i < count; ++i) {
      if (entries[i * stride] < -size || entries[i * stride] >= size) out_of_range(entries[i * stride], size);
    }
  }

  [[noreturn]] static void out_of_range(std::int64_t p, std::int64_t size) {
    fail(ErrorCode::runtime,
         "index " + std::to_string(p) + " is out of range for an axis of size " + std::to_string(size));
  }
  const std::int32_t* narrow_;
  const std::int64_t* wide_;
};

}  // namespace tern
