// Refers to single matrices in rows, for algorithms in double precision.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace tern::matrices {

using Complex = std::complex<double>;

/// Refers to a matrix of [rows, columns] elements; row r begins at data + r * stride.
template <class T>
struct MatrixRef {
  T* data = nullptr;
  std::int64_t rows = 0, columns = 0, stride = 0;

  MatrixRef(T* x, std::int64_t row_count, std::int64_t column_count)
      : data(x), rows(row_count), columns(column_count), stride(column_count) {}
  T& operator()(std::int64_t r, std::int64_t c) const { return data[r * stride + c]; }
  T* row(std::int64_t r) const { return data + r * stride; }
};

inline double conjugate(double x) {
  return x;
}
inline Complex conjugate(Complex x) {
  return std::conj(x);
}
/// |re| + |im|: within a factor of sqrt(2) of the absolute value, without its square root.
inline double size_of(double x) {
  return x < 0 ? -x : x;
}
inline double size_of(Complex x) {
  return size_of(x.real()) + size_of(x.imag());
}

inline constexpr int kExponentOfZero = -2000;
/// Exponent e of the largest part of the elements, 2^(e - 1) <= part < 2^e; kExponentOfZero for zeros.
template <class T>
int exponent_of(const T* x, std::int64_t count);
/// Multiplies by 2^exponent.
template <class T>
void scale_by_power(T* x, std::int64_t count, int exponent);
/// Returns an exponent whose squares would overflow or vanish, and 0 for exponents of ordinary numbers and of zeros.
inline int unusual(int exponent) {
  return exponent == kExponentOfZero || (exponent > -400 && exponent < 400) ? 0 : exponent;
}

}  // namespace tern::matrices
