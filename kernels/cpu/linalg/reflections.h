// A = Q R in the form of LAPACK's geqrf. Many columns use geqrt: its panels are recursive products instead of geqrf's
// matrix-vector products.
#pragma once

#include <algorithm>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lapack.h"

namespace tern::cpu {

inline constexpr int kQrPanel = 32;
inline constexpr int kMostColumns = 1 << 24;  ///< widest panels with a workspace in LAPACK's integer range

/// Measured with OpenBLAS 0.3.21: larger complex matrices gain nothing from recursive products.
template <class T>
bool has_recursive_panels(int m, int n) {
  const int k = std::min(m, n);
  return k > 80 && n <= kMostColumns && (!lapack::kIsComplex<T> || k <= 160);
}

/// Returns the workspace, in elements, of factor_qr and of LAPACK's orgqr and ormqr for k reflections; `width`: columns
/// of the widest multiplied matrix, or rows if reflections stand on the right. LAPACK applies few reflections singly,
/// and more in blocks of at most 64 if the workspace allows.
inline int qr_work_length(int k, int width) {
  if (k <= 16) return std::max(width, 1);
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(most, 64 * (width + std::int64_t{65})));
}

/// Factors A; `tau` has min(m, n) elements.
template <class T>
void factor_qr(int m, int n, T* a, T* tau, T* work, int work_length) {
  if (std::min(m, n) == 0) return;
  if (!has_recursive_panels<T>(m, n)) {
    lapack::geqrf(m, n, a, m, tau, work, work_length);
    return;
  }
  T* blocks = work + kQrPanel * n;  // their factors are on the diagonals
  lapack::geqrt(m, n, kQrPanel, a, m, blocks, kQrPanel, work);
  for (int i = 0; i < std::min(m, n); ++i) tau[i] = blocks[i * kQrPanel + i % kQrPanel];
}

}  // namespace tern::cpu
