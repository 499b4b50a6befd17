// Resizing one axis: lines of elements for outer axes, table lookups for the innermost.
#include <algorithm>

#include "dtypes/levels.h"
#include "kernels/cpu/windows/resize_table.h"

namespace tern::cpu {
namespace {

/// Number of used entries in a row of the table.
template <class T>
std::int64_t used_taps(const ResizeTable<T>& t, const std::int64_t* index) {
  std::int64_t taps = t.taps;
  while (index[taps - 1] < 0) --taps;
  return taps;
}

/// The innermost axis of `kRows` lines: entries of the table serve all lines. `kTaps`: entries in each row of the
/// table, or 0 where rows differ. Loads of single elements are faster than gathers.
template <class T, int kRows, int kTaps>
[[gnu::always_inline]] inline void resize_lines(const ResizeTable<T>& t, const T* x, T* y) {
  for (std::int64_t i = 0; i < t.out; ++i) {
    const std::int64_t* index = t.index.data() + i * t.taps;
    const T* weight = t.weight.data() + i * t.taps;
    const std::int64_t taps = kTaps > 0 ? kTaps : used_taps(t, index);
    T sums[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) sums[r] = x[r * t.in + index[0]] * weight[0];
    for (std::int64_t k = 1; k < taps; ++k) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sums[r] += x[r * t.in + index[k]] * weight[k];
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) y[r * t.out + i] = sums[r];
  }
}

template <class T, int kTaps>
[[gnu::always_inline]] inline void resize_all_lines(const ResizeTable<T>& t, const T* x, std::int64_t outer, T* y) {
  constexpr int kRows = 4;
  std::int64_t o = 0;
  for (; o + kRows <= outer; o += kRows) resize_lines<T, kRows, kTaps>(t, x + o * t.in, y + o * t.out);
  for (; o < outer; ++o) resize_lines<T, 1, kTaps>(t, x + o * t.in, y + o * t.out);
}

template <class T>
[[gnu::always_inline]] inline void resize_innermost(const ResizeTable<T>& t, const T* x, std::int64_t outer, T* y) {
  if (t.taps == 1) {
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < t.out; ++i) y[o * t.out + i] = x[o * t.in + t.index[static_cast<std::size_t>(i)]];
    }
    return;
  }
  if (t.taps == 2 && std::ranges::all_of(t.index, [](std::int64_t i) { return i >= 0; })) {
    return resize_all_lines<T, 2>(t, x, outer, y);
  }
  resize_all_lines<T, 0>(t, x, outer, y);
}

template <class T>
[[gnu::always_inline]] inline void resize_outer(const ResizeTable<T>& t, const T* x, std::int64_t outer,
                                                std::int64_t inner, T* y) {
  for (std::int64_t o = 0; o < outer; ++o) {
    const T* from = x + o * t.in * inner;
    for (std::int64_t i = 0; i < t.out; ++i) {
      T* to = y + (o * t.out + i) * inner;
      const std::int64_t* index = t.index.data() + i * t.taps;
      if (t.taps == 1) {
        std::copy_n(from + index[0] * inner, inner, to);
      } else {
        weighted_sum([&](std::int64_t k) { return from + index[k] * inner; }, t.weight.data() + i * t.taps,
                     used_taps(t, index), inner, to);
      }
    }
  }
}

}  // namespace

template <class T>
void apply(const ResizeTable<T>& t, const T* x, std::int64_t outer, std::int64_t inner, T* y) {
  visit_cpu_level([&](auto) __attribute__((always_inline)) {
    if (inner == 1) {
      resize_innermost(t, x, outer, y);
    } else {
      resize_outer(t, x, outer, inner, y);
    }
  });
}

template void apply(const ResizeTable<float>&, const float*, std::int64_t, std::int64_t, float*);
template void apply(const ResizeTable<double>&, const double*, std::int64_t, std::int64_t, double*);
template void apply(const ResizeTable<std::int32_t>&, const std::int32_t*, std::int64_t, std::int64_t, std::int32_t*);

}  // namespace tern::cpu
