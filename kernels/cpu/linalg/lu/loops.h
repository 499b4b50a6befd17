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
  int most;  ///< widest matrix with faster loops than BLAS's products of halves

  /// Factors P L U of a panel of `rows` rows and at most kPanel columns, each contiguous, `apart` from the next.
  /// pivots: the row exchanged with row j, from 0: the first of the largest elements. Returns the first column with a
  /// zero pivot, from 1; or 0.
  int (*panel)(T* columns, std::ptrdiff_t apart, int rows, int count, std::int32_t* pivots);
  /// b = L^-1 b with the unit lower triangle in the first kPanel rows of a panel; rows of b have `columns` elements.
  void (*solve)(const T* panel, std::ptrdiff_t apart, T* b, std::ptrdiff_t row, int columns);
  /// c -= a u; a: `rows` rows of a panel, u: kPanel rows.
  void (*subtract)(const T* panel, std::ptrdiff_t apart, const T* u, T* c, std::ptrdiff_t row, int rows, int columns);
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
