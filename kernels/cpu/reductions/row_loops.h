// Vectorised loops over a row of float or double, which softmax and the normalizations are made of. Sums are kept in
// the same lanes whatever the instruction set, so that every processor gives the same bits; exponentials have those of
// processors with fused multiply-adds, or others.
#pragma once

#include <cstdint>

#include "dtypes/levels.h"

namespace tern::rows {

template <class T>
struct RowLoops {
  T (*max)(const T* x, std::int64_t n);                        ///< -inf for none; NaN is passed over
  double (*exp_sum)(const T* x, T top, T* y, std::int64_t n);  ///< y = exp(x - top), and its sum
  double (*sum_exp)(const T* x, T top, std::int64_t n);        ///< the sum alone
  double (*sum)(const T* x, std::int64_t n);
  double (*distances)(const T* x, double from, std::int64_t n);  ///< the sum of (x - from)^2
  /// The same, of floats by blocks that are summed in float and added up in double: a quarter of the time, and errors
  /// of few units in the last place of a float.
  double (*block_sum)(const T* x, std::int64_t n);
  double (*block_distances)(const T* x, T from, std::int64_t n);
  /// block_sum of each of several short rows that follow each other.
  void (*row_sums)(const T* x, std::int64_t n, std::int64_t rows, double* sums);
  void (*scale)(const T* x, T by, T* y, std::int64_t n);               ///< y = x * by
  void (*shift)(const T* x, T first, T second, T* y, std::int64_t n);  ///< y = (x - first) - second
  /// y = (x - mean) * rstd * weight + bias; weight and bias may be null.
  void (*normalize)(const T* x, T mean, T rstd, const T* weight, const T* bias, T* y, std::int64_t n);
  void (*affine)(const T* x, T by, T plus, T* y, std::int64_t n);  ///< y = x * by + plus

  T (*max_or_nan)(const T* x, std::int64_t n);  ///< -inf for none; NaN if an element is
  T (*min_or_nan)(const T* x, std::int64_t n);  ///< inf for none; NaN if an element is

  // One element of each of n lines.
  void (*add_each)(double* sums, const T* x, std::int64_t n);
  /// add_each of `rows` rows, `row` elements apart: eight floats are summed in float, then added in double.
  void (*add_rows)(double* sums, const T* x, std::int64_t row, std::int64_t rows, std::int64_t n);
  void (*max_each)(T* top, const T* x, std::int64_t n);
  void (*exp_each)(double* sums, const T* x, const T* top, T* y, std::int64_t n);
  void (*scale_each)(const T* x, const T* by, T* y, std::int64_t n);
  void (*affine_each)(const T* x, const T* by, const T* plus, T* y, std::int64_t n);
};

/// The loops for this processor.
template <class T>
const RowLoops<T>& loops();
template <>
const RowLoops<float>& loops<float>();
template <>
const RowLoops<double>& loops<double>();

TERN_LEVEL_FUNCTIONS(vectors, set, RowLoops<float>* f, RowLoops<double>* d)

}  // namespace tern::rows
