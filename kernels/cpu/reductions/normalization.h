// Access shared by the normalization kernels: rows and weights of any type as float or double.
#pragma once

#include <cmath>

#include "kernels/cpu/reductions/row_loops.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/strided.h"
#include "threads/parallel.h"

namespace tern {

/// Operand i as T, or null if absent.
template <class T>
class Weights {
 public:
  Weights(const KernelCall& c, std::size_t i) {
    if (!c.has_input(i)) return;
    const TensorView& w = c.in[i];
    if (w.dtype == dtype_of_v<T>) {
      data_ = w.data_as<T>();
      return;
    }
    owned_.resize(static_cast<std::size_t>(w.numel()));
    convert(w.data, w.dtype, owned_.data(), dtype_of_v<T>, w.numel());
    data_ = owned_.data();
  }
  const T* data() const { return data_; }
  T value_or(std::int64_t i, T otherwise) const { return data_ == nullptr ? otherwise : data_[i]; }

 private:
  std::vector<T> owned_;
  const T* data_ = nullptr;
};

/// Rows of a contiguous tensor of any type, read as T and written back.
template <class T>
struct RowAccess {
  DType dtype;
  std::int64_t n, size = element_size(dtype);

  /// Returns row t; `buffer` holds a converted row.
  const T* read(const std::byte* data, std::int64_t t, T* buffer) const {
    const std::byte* at = data + t * n * size;
    if (dtype == dtype_of_v<T>) return reinterpret_cast<const T*>(at);
    convert(at, dtype, buffer, dtype_of_v<T>, n);
    return buffer;
  }
  T* begin(std::byte* data, std::int64_t t, T* buffer) const {
    return dtype == dtype_of_v<T> ? reinterpret_cast<T*>(data + t * n * size) : buffer;
  }
  void end(std::byte* data, std::int64_t t, const T* buffer) const {
    if (dtype != dtype_of_v<T>) convert(buffer, dtype_of_v<T>, data + t * n * size, dtype, n);
  }
};

/// Writes a number of an optional result.
inline void store_number(const KernelCall& c, std::size_t output, std::int64_t i, double v) {
  if (!c.wants_output(output)) return;
  const TensorView& o = c.out[output];
  convert(&v, DType::f64, o.data + i * element_size(o.dtype), o.dtype, 1);
}

inline std::int64_t product_of_last(const TensorView& x, std::int64_t k) {
  std::int64_t n = 1;
  for (int i = x.rank - static_cast<int>(k); i < x.rank; ++i) n *= x.size(i);
  return n;
}

/// Calls f with double if operand 0 has doubles, else with float.
template <class F>
void visit_row_type(const KernelCall& c, F&& f) {
  if (c.in[0].dtype == DType::f64) {
    f(std::type_identity<double>{});
  } else {
    f(std::type_identity<float>{});
  }
}

}  // namespace tern
