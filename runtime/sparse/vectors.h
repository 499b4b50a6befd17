// Vectors of iterative methods, in double precision.
#pragma once

#include <tern/sparse.h>

#include <complex>
#include <vector>

namespace tern::sparse {

using Complex = std::complex<double>;

/// Columns [n, k] in rows; k = 1 for vectors.
template <class T>
struct Columns {
  std::int64_t n = 0, k = 0;
  std::vector<T> x;

  Columns(std::int64_t rows, std::int64_t count) : n(rows), k(count), x(static_cast<std::size_t>(rows * count)) {}
  T* row(std::int64_t r) { return x.data() + r * k; }
  const T* row(std::int64_t r) const { return x.data() + r * k; }
};

/// An operator of the caller: checks sizes, types and finite elements of results.
class Applied {
 public:
  /// `name` of the function and `what` of the operator serve in messages.
  Applied(const char* function, const char* what, const Operator& f, DType t)
      : function_(function), argument_(what), f_(f), type_(t) {}
  /// f of the columns; vectors [n] if `is_vector`.
  template <class T>
  Columns<T> operator()(const Columns<T>& x, bool is_vector) const;

 private:
  const char *function_, *argument_;
  const Operator& f_;
  DType type_;
};

template <class T>
Columns<T> columns_of(const Tensor& t);
template <class T>
Tensor tensor_of(const Columns<T>& x, DType t, bool is_vector);

/// Calls f(T()) with double or Complex, for tensors of this type.
template <class F>
auto dispatch_wide(DType t, F f) {
  return t == DType::f32 || t == DType::f64 ? f(double()) : f(Complex());
}

inline double conjugate_of(double x) {
  return x;
}
inline Complex conjugate_of(Complex x) {
  return std::conj(x);
}

}  // namespace tern::sparse
