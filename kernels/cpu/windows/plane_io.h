// Planes of a contiguous tensor in the compute type of windows: f32 for small floats, f64, i64 for integers.
#pragma once

#include <cstdint>

#include "dtypes/convert.h"
#include "dtypes/storage.h"
#include "kernels/kernel.h"

namespace tern::cpu {

/// Calls f(T{}) with float, double or int64_t.
template <class F>
void visit_plane_type(DType t, F&& f) {
  if (t == DType::f64) {
    f(double{});
  } else if (is_floating(t)) {
    f(float{});
  } else {
    f(std::int64_t{});
  }
}

/// Returns a used output of a pool; all outputs have the same sizes.
inline const TensorView& sized_output(const KernelCall& c) {
  return c.out[c.wants_output(0) || !c.wants_output(1) ? 0 : 1];
}

/// Returns `count` elements from element `at` as T: in place, or converted into `buffer`.
template <class T>
const T* read_run(const TensorView& v, std::int64_t at, std::int64_t count, T* buffer) {
  const std::byte* from = v.data + at * element_size(v.dtype);
  if (v.dtype == dtype_of_v<T>) return reinterpret_cast<const T*>(from);
  convert(from, v.dtype, buffer, dtype_of_v<T>, count);
  return buffer;
}

/// Returns the target for `count` elements at `at`: the tensor, or `buffer`; write_run then converts a used output.
template <class T>
T* run_target(const TensorView& v, std::int64_t at, T* buffer) {
  return v.dtype == dtype_of_v<T> ? reinterpret_cast<T*>(v.data) + at : buffer;
}
template <class T>
void write_run(const TensorView& v, std::int64_t at, std::int64_t count, const T* run) {
  if (v.dtype != dtype_of_v<T> && v.dtype != DType::invalid)
    convert(run, dtype_of_v<T>, v.data + at * element_size(v.dtype), v.dtype, count);
}

}  // namespace tern::cpu
