// Linear algebra on many small matrices at once: each lane of a register holds an element of another matrix, so that
// every step of an algorithm is one instruction for 4 to 16 matrices. A tile is such a group of matrices in scratch
// memory: element (r, c) is the register at data + (r * row + c * column) * lanes; of complex elements, two registers,
// the real parts before the imaginary ones. Tiles stay in the caches.
//
// All lanes do the same steps. Where matrices need different ones (pivots, iterations), masks keep a lane as it is.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "dtypes/levels.h"

namespace tern::cpu::lanes {

inline constexpr int kMostLanes = 16;

/// The matrices of a tile in memory, all with these sizes and strides, in elements.
template <class T>
struct Matrices {
  T* at[kMostLanes];
  std::int64_t rows, columns, row, column;
};

/// Strides in registers; they may be negative.
template <class T>
struct Tile {
  T* data;
  std::ptrdiff_t row, column;
};

/// Numbers of the type of a matrix's parts: float of complex64.
template <class T>
struct PartOf {
  using type = T;
};
template <class T>
struct PartOf<std::complex<T>> {
  using type = T;
};

/// What becomes of the matrices of a tile: 0, or LAPACK's number.
using Infos = std::int32_t[kMostLanes];

/// Of LaneLoops::solve: its largest matrices, the rows of a tile, the scratch memory in registers.
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

  int lanes;  ///< 0: there are no loops for this type here

  /// `order`, [row][lane]: row r of the tile is row order[r][lane] of the matrix. Null: row r.
  void (*pack)(const Matrices<const T>& from, const std::int32_t* order, const Tile<T>& to);
  /// The first `count` lanes. `order`: row r of the tile becomes row order[r][lane] of the matrix.
  void (*unpack)(const Tile<T>& from, const std::int32_t* order, int count, const Matrices<T>& to);
  /// to[c * to_row + r] = from[r * from_row + c].
  void (*transpose)(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t from_row, T* to,
                    std::int64_t to_row);

  /// In place of the lower triangle; the strict upper one is not read. LAPACK's potrf.
  void (*cholesky)(const Tile<T>& a, int n, Infos& infos);
  /// In place, with pivots [step][lane] that count from 1: LAPACK's getrf. Rows are contiguous.
  void (*lu)(const Tile<T>& a, int m, int n, std::int32_t* pivots, Infos& infos);
  /// X = A^-1 B with partial pivoting, where n is at most kMostAtOnce and rows of a and b are contiguous; both are
  /// overwritten. Of elements as large as each other the first is the pivot: up to 4 rows as LAPACK finds them, which
  /// exchanges rows, of more as they were given. a has padded(n) rows and columns, b as many rows: what is beyond n is
  /// set here. Result: where X is. Null for complex numbers, and where the loops only have to be right and small: lu
  /// and triangular serve.
  Tile<T> (*solve)(const Tile<T>& a, int n, const Tile<T>& b, int columns, T* scratch, Infos& infos);
  /// x = a^-1 x with the lower triangle of a; `unit`: its diagonal is taken as ones.
  void (*triangular)(const Tile<const T>& a, int n, bool unit, const Tile<T>& x, int columns);

  /// Householder reflections in place and their factors tau [k][lane]: LAPACK's geqrf. Columns are contiguous.
  void (*qr)(const Tile<T>& a, int m, int n, T* tau);
  /// The first `columns` columns of the product of the first k reflections, in their place: LAPACK's orgqr.
  void (*form_q)(const Tile<T>& a, int m, int columns, int k, const T* tau);
  /// c = H_1 .. H_k c, or H_k .. H_1 c if `adjoint`, of m rows.
  void (*reflect)(const Tile<const T>& v, int m, int k, const T* tau, const Tile<T>& c, int columns, bool adjoint);

  /// The scratch of eigh and svd, in registers.
  std::int64_t (*eigh_scratch)(int n);
  std::int64_t (*svd_scratch)(int m, int n);
  /// Eigenvalues [n][lane], unsorted, and their places in ascending order [n][lane], of the lower triangle of a, which
  /// is overwritten. `vectors`: eigenvector i is column i, contiguous; null data: none. infos: iterations that did not
  /// converge, or numbers that are not finite.
  void (*eigh)(const Tile<T>& a, int n, R* values, std::int32_t* places, const Tile<T>& vectors, T* scratch,
               Infos& infos);
  /// Singular values, unsorted, and their places in descending order, of a with m >= n and contiguous columns. u [m,
  /// u_columns] has n columns or m, v [n, n]: columns are contiguous; null data: none. Columns of v are rows of V^H.
  void (*svd)(const Tile<T>& a, int m, int n, R* values, std::int32_t* places, const Tile<T>& u, int u_columns,
              const Tile<T>& v, T* scratch, Infos& infos);
};

/// The loops for this processor.
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

/// Of all types. Complex ones have none where the loops only have to be right and small.
struct AllLoops {
  LaneLoops<float> f32{};
  LaneLoops<double> f64{};
  LaneLoops<std::complex<float>> c64{};
  LaneLoops<std::complex<double>> c128{};
};
TERN_LEVEL_FUNCTIONS(vectors, set_real, AllLoops* all)
TERN_LEVEL_FUNCTIONS(vectors, set_complex, AllLoops* all)

}  // namespace tern::cpu::lanes
