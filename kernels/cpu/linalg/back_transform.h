// Q C with the reflections of a factorization, real: products of blocks of 64, where LAPACK's ormqr has blocks of 32,
// triangular products and copies.
#pragma once

#include <algorithm>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lapack.h"

namespace tern::cpu {

inline constexpr int kReflectionBlock = 64;

/// c = H_1 .. H_k c of m x n elements, by columns: v has the reflections below its diagonal, as geqrf leaves them.
/// `work` has 64 (m + 2 n + 64) elements.
template <class T>
void apply_reflections(int m, int n, int k, const T* v, int ldv, const T* tau, T* c, int ldc, T* work) {
  constexpr int most = kReflectionBlock;
  T *columns = work, *first = columns + std::int64_t{most} * m, *second = first + std::int64_t{most} * n,
    *triangle = second + std::int64_t{most} * n;
  for (int begin = (k - 1) / most * most; begin >= 0; begin -= most) {
    const int some = std::min(most, k - begin), rows = m - begin;
    for (int j = 0; j < some; ++j) {
      const T* from = v + static_cast<std::int64_t>(begin + j) * ldv + begin;
      T* to = columns + static_cast<std::int64_t>(j) * rows;
      std::fill_n(to, j, T(0));
      to[j] = T(1);
      std::copy(from + j + 1, from + rows, to + j + 1);
    }
    std::fill_n(triangle, some * some, T(0));
    lapack::larft(rows, some, columns, rows, tau + begin, triangle, some);
    T* at = c + begin;
    lapack::product(CblasTrans, some, n, rows, T(1), columns, rows, at, ldc, T(0), first, some);
    lapack::product(CblasNoTrans, some, n, some, T(1), triangle, some, first, some, T(0), second, some);
    lapack::product(CblasNoTrans, rows, n, some, T(-1), columns, rows, second, some, T(1), at, ldc);
  }
}

}  // namespace tern::cpu
