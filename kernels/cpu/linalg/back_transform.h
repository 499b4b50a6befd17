// Q C and C P^H with the reflections of a real factorization: products of blocks of 64 instead of LAPACK's ormqr with
// blocks of 32, triangular products and copies.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lapack.h"

namespace tern::cpu {

/// Returns the scratch elements of the functions below for square matrices.
inline std::int64_t reflections_work(std::int64_t n) {
  return 64 * (3 * n + 64);
}

/// Replaces c, n x n elements in columns, by H_1 .. H_k c with the reflections below the diagonal of v, as stored by
/// geqrf; or by c H_k .. H_1 (`kRight`) with the reflections right of the diagonal. Reflections and changed rows
/// (columns) begin at row (column) `first` of c; k = n - first.
template <class T, bool kRight>
void apply_reflections(int n, int first, const T* v, const T* tau, T* c, T* work) {
  constexpr int most = 64;
  const int k = n - first;
  T *columns = work, *found = columns + std::int64_t{most} * n, *changed = found + std::int64_t{most} * n,
    *triangle = changed + std::int64_t{most} * n;
  const std::int64_t across = kRight ? 1 : n, along = kRight ? n : 1;
  v += first * along;
  c += first * along;
  for (int begin = (k - 1) / most * most; begin >= 0; begin -= most) {
    const int some = std::min(most, k - begin), rows = k - begin;
    for (int j = 0; j < some; ++j) {
      const T* from = v + begin * (across + along) + j * across;
      T* to = columns + static_cast<std::int64_t>(j) * rows;
      std::fill_n(to, j, T(0));
      to[j] = T(1);
      for (std::int64_t r = j + 1; r < rows; ++r) to[r] = from[r * along];
    }
    std::fill_n(triangle, some * some, T(0));
    lapack::larft(rows, some, columns, rows, tau + begin, triangle, some);
    T* at = c + begin * along;
    const auto N = CblasNoTrans, H = CblasTrans;
    if constexpr (kRight) {
      lapack::product(N, N, n, some, rows, T(1), at, n, columns, rows, T(0), found, n);
      lapack::product(N, H, n, some, some, T(1), found, n, triangle, some, T(0), changed, n);
      lapack::product(N, H, n, rows, some, T(-1), changed, n, columns, rows, T(1), at, n);
    } else {
      lapack::product(H, N, some, n, rows, T(1), columns, rows, at, n, T(0), found, some);
      lapack::product(N, N, some, n, some, T(1), triangle, some, found, some, T(0), changed, some);
      lapack::product(N, N, rows, n, some, T(-1), columns, rows, changed, some, T(1), at, n);
    }
  }
}

/// True if LAPACK's drivers would first scale a matrix with this largest number.
template <class R>
bool is_scaled(R most) {
  using Limits = std::numeric_limits<R>;
  const R least = std::sqrt(Limits::min()) / Limits::epsilon();
  return !(most > least && most < 1 / least);
}

}  // namespace tern::cpu
