// Attention of neighbouring queries, one in each lane, to some keys: compiled once for each instruction set.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>

#include "dtypes/levels.h"

namespace tern::reproducible {

constexpr std::ptrdiff_t kKeys = 8;  // that are taken at a time, as in kernels/portable/text/attention.inc
constexpr std::ptrdiff_t kMostLanes = 32;

/// Elements are so many steps apart.
template <class T>
struct Matrix {
  const T* data = nullptr;
  std::ptrdiff_t row = 0, column = 0;
  const T* at(std::ptrdiff_t i) const { return data + i * row; }
};

template <class T>
struct Queries {
  const T* queries = nullptr;                                   ///< [width, lanes]
  Matrix<T> keys, values;                                       ///< [keys, width], [keys, out_width]
  std::ptrdiff_t rows = 0;                                      ///< how many of the lanes have a row of the mask
  std::ptrdiff_t width = 0, out_width = 0, begin = 0, end = 0;  ///< the last two: of the keys that are taken
  const std::ptrdiff_t* ends = nullptr;                         ///< for each lane: the first key that it does not see
  T scale = 1;
  Matrix<T> mask;                  ///< what is added to scores, a row for each lane; or
  Matrix<bool> visible;            ///< which keys are seen
  DType rounded = DType::invalid;  ///< what weights are rounded to before they meet values; invalid: nothing
  void (*exp)(void* to, const void* a, const void* b, const void* c, std::int64_t n) = nullptr;
  T *sums = nullptr, *top = nullptr, *total = nullptr;  ///< [out_width, lanes], [lanes] and [lanes]: to be taken on
};

struct AttentionLoops {
  std::ptrdiff_t lanes_f32, lanes_f64;
  void (*f32)(const Queries<float>& q);
  void (*f64)(const Queries<double>& q);
};

/// The loops for this processor.
const AttentionLoops& attention_loops();

TERN_LEVEL_FUNCTIONS(vectors, set_attention, AttentionLoops* loops)

}  // namespace tern::reproducible
