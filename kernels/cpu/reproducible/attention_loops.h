// Attention of neighbouring queries, one per lane, to some keys: compiled once for each instruction set.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>

#include "dtypes/levels.h"

namespace tern::reproducible {

constexpr std::ptrdiff_t kKeys = 8;  // keys per step, as in kernels/portable/text/attention.inc
constexpr std::ptrdiff_t kMostLanes = 32;

/// A view with row and column strides in elements.
template <class T>
struct StridedMatrix {
  const T* data = nullptr;
  std::ptrdiff_t row = 0, column = 0;
  const T* row_at(std::ptrdiff_t i) const { return data + i * row; }
};

template <class T>
struct Queries {
  const T* queries = nullptr;                                   ///< [width, lanes]
  StridedMatrix<T> keys, values;                                ///< [keys, width], [keys, out_width]
  std::ptrdiff_t rows = 0;                                      ///< lanes with a row of the mask
  std::ptrdiff_t width = 0, out_width = 0, begin = 0, end = 0;  ///< begin, end: range of keys
  const std::ptrdiff_t* key_ends = nullptr;                     ///< per lane: the first hidden key
  T scale = 1;
  StridedMatrix<T> mask;           ///< addends of scores, a row per lane; or
  StridedMatrix<bool> visible;     ///< visible keys
  DType rounded = DType::invalid;  ///< type of the rounded weights before the product with values; invalid: not rounded
  void (*exp)(void* to, const void* a, const void* b, const void* c, std::int64_t n) = nullptr;
  T *sums = nullptr, *top = nullptr, *total = nullptr;  ///< [out_width, lanes], [lanes] and [lanes]: running values
};

struct AttentionLoops {
  std::ptrdiff_t lanes_f32, lanes_f64;
  void (*f32)(const Queries<float>& q);
  void (*f64)(const Queries<double>& q);
};

/// Returns the loops for this processor.
const AttentionLoops& attention_loops();

TERN_LEVEL_FUNCTIONS(vectors, set_attention, AttentionLoops* loops)

}  // namespace tern::reproducible
