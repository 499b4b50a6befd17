// Linear algebra on many small matrices at once: each lane of a vector holds an element of another matrix, so every
// step of an algorithm is a single instruction for 4 to 16 matrices. A tile is a group of matrices in scratch memory:
// element (r, c) is the vector at data + (r * row + c * column) * lanes; complex elements are two vectors, real parts
// before imaginary parts. Tiles stay in the caches.
//
// All lanes take the same steps. If matrices need different steps (pivots, iterations), masks leave lanes unchanged.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "dtypes/levels.h"

namespace tern::cpu::lanes {

inline constexpr int kMostLanes = 16;

/// The matrices of a tile in memory, with common sizes and strides in elements.
template <class T>
struct LaneMatrices {
  T* data[kMostLanes];
  std::int64_t rows, columns, row, column;
};

/// Strides in vectors, possibly negative.
template <class T>
struct Tile {
  T* data;
  std::ptrdiff_t row, column;
};

/// The real type of a matrix: float for complex64.
template <class T>
struct PartOf {
  using type = T;
};
template <class T>
struct PartOf<std::complex<T>> {
  using type = T;
};

/// Outcome for each matrix of a tile: 0, or LAPACK's info.
using Infos = std::int32_t[kMostLanes];

/// Limits of LaneLoops::solve: largest matrix, rows of a tile, scratch memory in vectors.
inline constexpr int kMostAtOnce = 32;
inline constexpr int padded(int n) {
  return n <= 4 ? n : (n + 3) / 4 * 4;
}
inline constexpr std::int64_t solve_scratch(int n, int columns) {
  return n <= 4 ? 0 : std::int64_t{padded(n)} * (padded(n) + columns + 5);
}

template <class T>
struct LaneLoops {
  using R = typename PartOf<T>::type;

  int lanes;  ///< 0: no loops for this type

  /// Packs matrices into a tile. `order`, [row][lane]: row r of the tile is row order[r][lane] of the matrix. Null: row
  /// r.
  void (*pack)(const LaneMatrices<const T>& from, const std::int32_t* order, const Tile<T>& to);
  /// Stores the first `count` lanes. `order`: row r of the tile becomes row order[r][lane] of the matrix.
  void (*unpack)(const Tile<T>& from, const std::int32_t* order, int count, const LaneMatrices<T>& to);
  /// to[c * to_row + r] = from[r * from_row + c].
  void (*transpose)(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t from_row, T* to,
                    std::int64_t to_row);

  /// Factors the lower triangle in place, without a read of the strict upper triangle. LAPACK's potrf.
  void (*cholesky)(const Tile<T>& a, int n, Infos& infos);
  /// Factors in place, with pivots [step][lane] from 1: LAPACK's getrf. Rows are contiguous.
  void (*lu)(const Tile<T>& a, int m, int n, std::int32_t* pivots, Infos& infos);
  /// Solves X = A^-1 B with partial pivoting; n is at most kMostAtOnce, rows of a and b are contiguous, and both are
  /// overwritten. The first of equally large elements is the pivot: up to 4 rows in LAPACK's order after exchanges,
  /// above 4 rows in the given order. a has padded(n) rows and columns, b as many rows; `solve` fills the padding.
  /// Returns X. Null for complex numbers and at levels without fma: lu and triangular serve instead.
  Tile<T> (*solve)(const Tile<T>& a, int n, const Tile<T>& b, int columns, T* scratch, Infos& infos);
  /// x = a^-1 x with the lower triangle of a; `unit`: the diagonal counts as ones.
  void (*triangular)(const Tile<const T>& a, int n, bool unit, const Tile<T>& x, int columns);

  /// Computes Householder reflections in place and their factors tau [k][lane]: LAPACK's geqrf. Columns are contiguous.
  void (*qr)(const Tile<T>& a, int m, int n, T* tau);
  /// Replaces the first k reflections by the first `columns` columns of their product: LAPACK's orgqr.
  void (*form_q)(const Tile<T>& a, int m, int columns, int k, const T* tau);
  /// c = H_1 .. H_k c, or H_k .. H_1 c if `adjoint`, of m rows.
  void (*reflect)(const Tile<const T>& v, int m, int k, const T* tau, const Tile<T>& c, int columns, bool adjoint);

  /// Return the scratch vectors of eigh and svd.
  std::int64_t (*eigh_scratch)(int n);
  std::int64_t (*svd_scratch)(int m, int n);
  /// Eigenvalues [n][lane], unsorted, and their ranks in ascending order [n][lane], of the lower triangle of a
  /// (overwritten). `vectors`: eigenvector i is column i, contiguous; null data: none. infos: no convergence, or
  /// numbers that are not finite.
  void (*eigh)(const Tile<T>& a, int n, R* values, std::int32_t* order, const Tile<T>& vectors, T* scratch,
               Infos& infos);
  /// Singular values, unsorted, and their ranks in descending order, of a with m >= n and contiguous columns. u [m,
  /// u_columns] has n or m columns, v [n, n]: columns are contiguous; null data: none. Columns of v are rows of V^H.
  void (*svd)(const Tile<T>& a, int m, int n, R* values, std::int32_t* order, const Tile<T>& u, int u_columns,
              const Tile<T>& v, T* scratch, Infos& infos);
};

/// Returns the loops for this processor.
template <class T>
const LaneLoops<T>& loops();
template <>
const LaneLoops<float>& loops<float>();
template <>
const LaneLoops<double>& loops<double>();
template <>
const LaneLoops<std::complex<float>>& loops<std::complex<float>>();
template <>
const LaneLoops<std::complex<double>>& loops<std::complex<double>>();

/// The loops of all types. Complex loops are absent at levels without fma.
struct AllLoops {
  LaneLoops<float> f32{};
  LaneLoops<double> f64{};
  LaneLoops<std::complex<float>> c64{};
  LaneLoops<std::complex<double>> c128{};
};
TERN_LEVEL_FUNCTIONS(vectors, set_real, AllLoops* all)
TERN_LEVEL_FUNCTIONS(vectors, set_complex, AllLoops* all)

}  // namespace tern::cpu::lanes
