// Triangular systems of many right hand sides, in halves: products do most of the work, and BLAS multiplies twice as
// fast as its trsm solves.
#pragma once

#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/tiny.h"

namespace tern::cpu {

/// A triangle of a row-major matrix, with op.
template <class T>
struct BlasTriangle {
  const T* data;
  int leading;
  CBLAS_UPLO uplo;
  CBLAS_TRANSPOSE op;
  CBLAS_DIAG diagonal;

  bool is_lower() const { return (uplo == CblasLower) == (op == CblasNoTrans); }  ///< of op(A)
  BlasTriangle subtriangle(int k) const {
    return {data + (leading + std::int64_t{1}) * k, leading, uplo, op, diagonal};
  }
  /// Returns the nonzero block between the triangles before and after k.
  const T* rectangle(int k) const {
    return uplo == CblasLower ? data + static_cast<std::int64_t>(k) * leading : data + k;
  }
};

/// Solves op(A) X = B, or X op(A) = B, in place of the row-major B of m rows and n columns.
template <class T>
void solve_triangle(CBLAS_SIDE side, const BlasTriangle<T>& a, int m, int n, T* b, int ldb) {
  constexpr int few = 32;
  const bool left = side == CblasLeft;
  const int size = left ? m : n, others = left ? n : m;
  if (size <= few || others < few) return lapack::trsm(side, a.uplo, a.op, a.diagonal, m, n, a.data, a.leading, b, ldb);
  const int half = (size / 2 + 15) / 16 * 16, rest = size - half;
  T* second = left ? b + static_cast<std::int64_t>(half) * ldb : b + half;
  const auto solve_first = [&] { solve_triangle(side, a, left ? half : m, left ? n : half, b, ldb); };
  const auto solve_second = [&] {
    solve_triangle(side, a.subtriangle(half), left ? rest : m, left ? n : rest, second, ldb);
  };
  const auto subtract = [&](const T* known, T* from, int of_known, int of_from) {
    if (left) {
      lapack::subtract_product(a.op, CblasNoTrans, of_from, n, of_known, a.rectangle(half), a.leading, known, ldb, from,
                               ldb);
    } else {
      lapack::subtract_product(CblasNoTrans, a.op, m, of_from, of_known, known, ldb, a.rectangle(half), a.leading, from,
                               ldb);
    }
  };
  if (a.is_lower() == left) {
    solve_first();
    subtract(b, second, half, rest);
    solve_second();
  } else {
    solve_second();
    subtract(second, b, rest, half);
    solve_first();
  }
}

/// Like solve_triangle, by substitution with divisions: diagonal elements may be subnormal.
template <class T>
void substitute(CBLAS_SIDE side, const BlasTriangle<T>& a, int m, int n, T* b, int ldb) {
  const bool left = side == CblasLeft, forward = a.is_lower() == left;
  const int size = left ? m : n, others = left ? n : m;
  const std::int64_t step = left ? ldb : 1, next = left ? 1 : ldb;
  // X op(A) = B is op(A)^T X^T = B^T.
  const bool transposed = (a.op != CblasNoTrans) == left;
  const auto element = [&](int r, int c) {
    const T x = a.data[transposed ? c * std::int64_t{a.leading} + r : r * std::int64_t{a.leading} + c];
    if constexpr (lapack::kIsComplex<T>) {
      if (a.op == CblasConjTrans) return std::conj(x);
    }
    return x;
  };
  for (int j = 0; j < others; ++j) {
    T* x = b + j * next;
    for (int i = 0; i < size; ++i) {
      const int r = forward ? i : size - 1 - i;
      T sum = x[r * step];
      for (int c = forward ? 0 : r + 1; c < (forward ? r : size); ++c) sum -= element(r, c) * x[c * step];
      x[r * step] = a.diagonal == CblasUnit ? sum : quotient_by_tiny(sum, element(r, r));
    }
  }
}

/// Solves op(A) X = B, or X op(A) = B, in place of the row-major B, for any A.
template <class T>
void solve_any_triangle(CBLAS_SIDE side, const BlasTriangle<T>& a, int m, int n, T* b, int ldb) {
  const int size = side == CblasLeft ? m : n;
  if (a.diagonal != CblasUnit && has_infinite_inverse(a.data, size, a.leading + std::int64_t{1}))
    return substitute(side, a, m, n, b, ldb);
  if (side == CblasLeft && n == 1 && ldb == 1) return lapack::trsv(a.uplo, a.op, a.diagonal, m, a.data, a.leading, b);
  solve_triangle(side, a, m, n, b, ldb);
}

}  // namespace tern::cpu
