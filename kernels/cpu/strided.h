// Strided elements: collapsed axes, and runs read and written in a compute type.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <cstring>

#include "dtypes/convert.h"
#include "dtypes/storage.h"
#include "kernels/kernel.h"

namespace tern {

/// Axes from the outermost to the innermost; axes contiguous in memory are collapsed.
struct CollapsedAxes {
  std::size_t rank = 0;
  std::int64_t count = 1;  ///< product of all sizes
  std::array<std::int64_t, kMaxRank> sizes{}, strides{};

  void add(std::int64_t size, std::int64_t stride) {
    count *= size;
    if (size == 1) return;
    if (rank > 0) {
      const std::size_t last = rank - 1;
      if (strides[last] == stride * size) {
        sizes[last] *= size;
        strides[last] = stride;
        return;
      }
    }
    if (rank == kMaxRank) return;  // never happens: each tensor axis is added once
    sizes[rank] = size;
    strides[rank++] = stride;
  }
  std::int64_t inner_size() const { return rank == 0 ? 1 : sizes[rank - 1]; }
  std::int64_t inner_stride() const { return rank == 0 ? 1 : strides[rank - 1]; }
  /// Returns the offset of element `i` in row-major order.
  std::int64_t offset(std::int64_t i) const {
    std::int64_t at = 0;
    for (std::size_t k = rank; k-- > 1;) {
      at += i % sizes[k] * strides[k];
      i /= sizes[k];
    }
    return rank == 0 ? 0 : at + i * strides[0];
  }
};

/// Returns the axes of `v` without `axis` (-1: all).
inline CollapsedAxes axes_without(const TensorView& v, int axis) {
  CollapsedAxes axes;
  for (int i = 0; i < v.rank; ++i) {
    if (i != axis) axes.add(v.size(i), v.stride(i));
  }
  return axes;
}

/// Returns the axis attribute as an index from 0.
inline int axis_of(const Node& node, int rank, AttrKey key = AttrKey::axis) {
  const std::int64_t a = node.integer(key);
  return static_cast<int>(a < 0 ? a + rank : a);
}

/// The largest element, for copies by size.
struct Bytes16 {
  std::uint64_t low, high;
};

namespace strided_detail {
template <class T>
void gather(const std::byte* from, std::int64_t stride, std::byte* to, std::int64_t n) {
  const T* f = reinterpret_cast<const T*>(from);
  T* t = reinterpret_cast<T*>(to);
  for (std::int64_t i = 0; i < n; ++i) t[i] = f[i * stride];
}
template <class T>
void scatter(const std::byte* from, std::byte* to, std::int64_t stride, std::int64_t n) {
  const T* f = reinterpret_cast<const T*>(from);
  T* t = reinterpret_cast<T*>(to);
  for (std::int64_t i = 0; i < n; ++i) t[i * stride] = f[i];
}
}  // namespace strided_detail

/// Copies n elements of `size` bytes, `stride` elements apart, to consecutive elements.
inline void gather_run(const std::byte* from, std::int64_t stride, std::byte* to, std::int64_t n, int size) {
  using namespace strided_detail;
  if (stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n * size));
    return;
  }
  switch (size) {
    case 1: return gather<std::uint8_t>(from, stride, to, n);
    case 2: return gather<std::uint16_t>(from, stride, to, n);
    case 4: return gather<std::uint32_t>(from, stride, to, n);
    case 8: return gather<std::uint64_t>(from, stride, to, n);
    default: return gather<Bytes16>(from, stride, to, n);
  }
}

/// Copies consecutive elements to elements `stride` apart.
inline void scatter_run(const std::byte* from, std::byte* to, std::int64_t stride, std::int64_t n, int size) {
  using namespace strided_detail;
  if (stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n * size));
    return;
  }
  switch (size) {
    case 1: return scatter<std::uint8_t>(from, to, stride, n);
    case 2: return scatter<std::uint16_t>(from, to, stride, n);
    case 4: return scatter<std::uint32_t>(from, to, stride, n);
    case 8: return scatter<std::uint64_t>(from, to, stride, n);
    default: return scatter<Bytes16>(from, to, stride, n);
  }
}

inline constexpr std::int64_t kRun = 512;  ///< elements per call of a reader or writer

/// Reads runs of elements of any type as L, a compute type or bool.
template <class L>
class RunReader {
 public:
  explicit RunReader(DType from) : source_type_(from), size_(element_size(from)) {}

  /// Reads at most kRun elements; valid until the next call. Copies only if necessary.
  const L* read(const std::byte* at, std::int64_t stride, std::int64_t n) {
    if (source_type_ == dtype_of_v<L>) {
      if (stride == 1) return reinterpret_cast<const L*>(at);
      gather_run(at, stride, reinterpret_cast<std::byte*>(buffer_), n, size_);
      return buffer_;
    }
    if (stride != 1) {
      gather_run(at, stride, gathered_, n, size_);
      at = gathered_;
    }
    convert(at, source_type_, buffer_, dtype_of_v<L>, n);
    return buffer_;
  }

 private:
  DType source_type_;
  int size_;
  alignas(64) L buffer_[kRun];
  alignas(64) std::byte gathered_[kRun * 16];
};

/// Writes runs of T as elements of any type.
template <class T>
class RunWriter {
 public:
  explicit RunWriter(DType to) : target_type_(to), size_(element_size(to)) {}
  /// Returns the buffer for up to kRun results destined for `at`: `at` itself if possible.
  T* begin(std::byte* at, std::int64_t stride) {
    return stride == 1 && target_type_ == dtype_of_v<T> ? reinterpret_cast<T*>(at) : buffer_;
  }
  void end(std::byte* at, std::int64_t stride, std::int64_t n) {
    if (target_type_ == dtype_of_v<T>) {
      if (stride != 1) scatter_run(reinterpret_cast<const std::byte*>(buffer_), at, stride, n, size_);
    } else if (stride == 1) {
      convert(buffer_, dtype_of_v<T>, at, target_type_, n);
    } else {
      convert(buffer_, dtype_of_v<T>, converted_, target_type_, n);
      scatter_run(converted_, at, stride, n, size_);
    }
  }

 private:
  DType target_type_;
  int size_;
  alignas(64) T buffer_[kRun];
  alignas(64) std::byte converted_[kRun * 16];
};

/// Calls f(std::type_identity<L>{}) with the C++ type of a compute type.
template <class F>
void visit_compute(DType compute, F&& f) {
  switch (compute) {
    case DType::i64: return f(std::type_identity<std::int64_t>{});
    case DType::u64: return f(std::type_identity<std::uint64_t>{});
    case DType::f32: return f(std::type_identity<float>{});
    case DType::f64: return f(std::type_identity<double>{});
    case DType::c64: return f(std::type_identity<std::complex<float>>{});
    case DType::c128: return f(std::type_identity<std::complex<double>>{});
    default: fail(ErrorCode::internal, "no arithmetic on " + std::string(name_of(compute)));
  }
}

/// Like visit_compute, without complex types.
template <class F>
void visit_real_compute(DType compute, F&& f) {
  switch (compute) {
    case DType::i64: return f(std::type_identity<std::int64_t>{});
    case DType::u64: return f(std::type_identity<std::uint64_t>{});
    case DType::f32: return f(std::type_identity<float>{});
    case DType::f64: return f(std::type_identity<double>{});
    default: fail(ErrorCode::internal, "no order on " + std::string(name_of(compute)));
  }
}

/// Copies input 0 to the output unless the runtime gave both the same memory.
inline void start_from_input(KernelCall& c) {
  if (c.out[0].data != c.in[0].data) copy_strided(c.in[0], c.out[0]);
}

/// Returns compute_type with booleans as integers.
inline DType number_type(DType t) {
  return t == DType::boolean ? DType::i64 : compute_type(t);
}

}  // namespace tern
