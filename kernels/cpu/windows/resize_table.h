// A table per axis of a resize: input elements and weights of each output element. Positions and weights equal
// PyTorch's CPU kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/kernel.h"
#include "schema/window_kinds.h"

namespace tern::cpu {

/// Output i is the sum over k < taps of weight[i * taps + k] times input index[i * taps + k]. A row ends before the
/// first negative index; index[i * taps] is never negative.
template <class T>
struct ResizeTable {
  std::int64_t in = 1, out = 1, taps = 1;
  bool identity = true;
  std::vector<std::int64_t> index;
  std::vector<T> weight;
};

/// True if `node` resizes these elements in PyTorch's arithmetic for byte images.
bool resizes_bytes(const Node& node, const TensorView& x);

/// Builds the table of axis `axis` for a call of resize or resize_gradient. T is float or double; bytes use double, or
/// float in the nearest modes.
template <class T>
ResizeTable<T> resize_table(const KernelCall& c, int axis);

/// Computes to [count] = the sum over k < taps of weight[k] times from(k) [count], in this order.
template <class T, class From>
[[gnu::always_inline]] inline void weighted_sum(const From& from, const T* weight, std::int64_t taps,
                                                std::int64_t count, T* to) {
  if (taps == 2) {
    const T *a = from(0), *b = from(1), u = weight[0], v = weight[1];
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) to[j] = a[j] * u + b[j] * v;
    return;
  }
  const T* first = from(0);
#pragma omp simd
  for (std::int64_t j = 0; j < count; ++j) to[j] = first[j] * weight[0];
  for (std::int64_t k = 1; k < taps; ++k) {
    const T* source = from(k);
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) to[j] += source[j] * weight[k];
  }
}

/// Resizes an axis of `outer` x in x `inner` elements.
template <class T>
void apply(const ResizeTable<T>& t, const T* x, std::int64_t outer, std::int64_t inner, T* y);

/// Quantizes weights as PyTorch does for uint8 images: 15 bits, with a precision set by the largest weight. Weights of
/// the same input element and output are added first. Returns the precision: weights are multiples of 2^-precision.
template <class T>
int quantise(const std::vector<std::int64_t>& index, std::vector<T>& weight, std::int64_t out, std::int64_t taps);

}  // namespace tern::cpu
