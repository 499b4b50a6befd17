// Limits of batches that are faster with a matrix per lane than matrix by matrix (`./dev bench linalg`).
#pragma once

#include <algorithm>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lanes/loops.h"
#include "kernels/kernel.h"

namespace tern::cpu::lanes {

/// Up to `size` rows and columns, a full tile is at least `gain` times as fast as LAPACK matrix by matrix. A partly
/// filled tile takes as long as a full tile.
struct Gain {
  std::int64_t size, lanes;  ///< requires at least `lanes` lanes
  double gain;
};
// Smallest gain of cholesky, lu_factor, lu_solve, qr, eigh and svd. Tiles above 128 exceed the caches.
inline constexpr Gain kGains[] = {{16, 2, 4}, {32, 4, 4}, {64, 4, 1.5}, {128, 8, 1.5}};

inline std::int64_t lanes_of(DType type) {
  switch (type) {
    case DType::f64: return loops<double>().lanes;
    case DType::c64: return loops<std::complex<float>>().lanes;
    case DType::c128: return loops<std::complex<double>>().lanes;
    default: return loops<float>().lanes;
  }
}
/// True if lanes are faster for `count` matrices of at most `size` rows and columns.
inline bool within(DType type, std::int64_t size, std::int64_t count) {
  const std::int64_t lanes = lanes_of(type);
  if (lanes == 0) return false;
  const std::int64_t order = (count + lanes - 1) / lanes * lanes;
  for (const Gain& g : kGains) {
    if (size <= g.size && lanes >= g.lanes)
      return count > 1 && static_cast<double>(order) <= g.gain * static_cast<double>(count);
  }
  return false;
}
/// True if lanes are faster for a batch of non-empty matrices: the last two axes of `a`.
inline bool matrices_fit(const TensorView& a) {
  const std::int64_t m = a.size(a.rank - 2), n = a.size(a.rank - 1);
  return m > 0 && n > 0 && within(a.dtype, std::max(m, n), batch_count(a, 2));
}

}  // namespace tern::cpu::lanes
