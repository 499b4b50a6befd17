// LU of one real matrix whose rows lie in memory: the loops below the blocks, in the registers of each instruction set.
// Memory begins and rows lie at multiples of 16 elements and 64 bytes, and what is beyond the last column or row up to
// the next multiple of 16 is memory of the matrix, too, of zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtypes/levels.h"

namespace tern::cpu::lu {

inline constexpr int kPanel = 16;  ///< columns of a panel

template <class T>
struct Loops {
  int most;  ///< columns up to which these loops are faster than BLAS's products of halves

  /// P L U of a panel of `rows` rows and at most kPanel columns, each contiguous, `apart` from the next. pivots: the
  /// row that row j was exchanged with, from 0: of the largest elements the first. Result: the first column whose pivot
  /// is zero, from 1; or 0.
  int (*panel)(T* columns, std::ptrdiff_t apart, int rows, int count, std::int32_t* pivots);
  /// b = L^-1 b with the unit lower triangle in the first kPanel rows of a panel; b has rows of `columns` elements.
  void (*solve)(const T* panel, std::ptrdiff_t apart, T* b, std::ptrdiff_t row, int columns);
  /// c -= a u; a: `rows` rows of a panel, u: kPanel rows.
  void (*subtract)(const T* panel, std::ptrdiff_t apart, const T* u, T* c, std::ptrdiff_t row, int rows, int columns);
  void (*exchange)(T* a, T* b, int n);
};

/// The loops for this processor.
template <class T>
const Loops<T>& loops();
template <>
const Loops<float>& loops<float>();
template <>
const Loops<double>& loops<double>();

struct BothLoops {
  Loops<float> f32{};
  Loops<double> f64{};
};
TERN_LEVEL_FUNCTIONS(vectors, set, BothLoops* both)

}  // namespace tern::cpu::lu
