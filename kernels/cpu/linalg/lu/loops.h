// LU of a real matrix with rows in memory: the loops below the blocks, for each instruction set. Memory begins and rows
// lie at multiples of 16 elements and 64 bytes; the matrix owns zeroed memory past the last column and row up to the
// next multiple of 16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtypes/levels.h"

namespace tern::cpu::lu {

inline constexpr int kPanel = 16;  ///< columns of a panel

template <class T>
struct LuLoops {
  int max_columns;  ///< widest matrix with faster loops than BLAS's products of halves

  /// Factors P L U of a panel of `rows` rows and `count` columns (at most kPanel); columns are contiguous,
  /// `column_stride` elements apart. pivots[j]: the row (from 0) exchanged with row j, the first of the largest
  /// magnitudes. Returns the first column with a zero pivot, from 1; or 0 (LAPACK's info).
  int (*panel)(T* columns, std::ptrdiff_t column_stride, int rows, int count, std::int32_t* pivots);
  /// b = L^-1 b with the unit lower triangle in the first kPanel rows of a panel. Rows of b have `columns` elements and
  /// are `row_stride` apart.
  void (*solve)(const T* panel, std::ptrdiff_t column_stride, T* b, std::ptrdiff_t row_stride, int columns);
  /// c -= l u. l: `rows` rows of a panel; u: kPanel rows; rows of u and c are `row_stride` apart.
  void (*subtract)(const T* panel, std::ptrdiff_t column_stride, const T* u, T* c, std::ptrdiff_t row_stride, int rows,
                   int columns);
  /// Swaps two rows of n elements.
  void (*exchange)(T* a, T* b, int n);
};

/// Returns the loops for this processor.
template <class T>
const LuLoops<T>& loops();
template <>
const LuLoops<float>& loops<float>();
template <>
const LuLoops<double>& loops<double>();

struct BothLoops {
  LuLoops<float> f32{};
  LuLoops<double> f64{};
};
TERN_LEVEL_FUNCTIONS(vectors, set, BothLoops* both)

}  // namespace tern::cpu::lu
