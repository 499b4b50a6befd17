// A matrix product on strided operands, in the types that products are computed in.
#pragma once

#include <tern/dtype.h>

#include <complex>
#include <cstdint>

namespace tern {

/// The type in which products of `t` are summed: f32 for all small floats, c64 for c32, i64 for integers and booleans
/// (the low bits of a wider sum are right for every narrower type), else `t`.
DType gemm_type(DType t);

template <class T>
struct MatrixView {
  const T* data = nullptr;
  std::int64_t row = 0, column = 0;  ///< strides in elements
};

/// True if gemm reads a matrix with these strides: rows or columns are contiguous, and do not overlap.
bool gemm_layout(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column);

/// c [m, n] (rows `ldc` apart) = a [m, k] b [k, n], plus what c held if `accumulate`. On several threads, unless called
/// from a parallel region. T is float, double, complex<float>, complex<double> or int64_t (which wraps).
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, std::int64_t ldc,
          bool accumulate);

/// Calls f(T{}) with the C++ type of a gemm_type.
template <class F>
decltype(auto) visit_gemm_type(DType t, F&& f) {
  switch (t) {
    case DType::f64: return f(double{});
    case DType::c64: return f(std::complex<float>{});
    case DType::c128: return f(std::complex<double>{});
    case DType::i64: return f(std::int64_t{});
    default: return f(float{});
  }
}

}  // namespace tern
