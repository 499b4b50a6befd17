// A stage of Stockham's transform: butterflies of a single radix over all lines.
#pragma once

#include <cstdint>
#include <type_traits>

#include "dtypes/levels.h"

namespace tern::cpu {

/// Computes, for p < rest and q < stride: a[k] = x[q + row (p + rest k)]; y[q + stride (radix p + j)] = (sum a[k]
/// w^(jk)) t[p][j], w = exp(-2 pi i / radix). `twiddles`: real and imaginary parts of t[p][j] for j = 1 .. radix - 1.
template <class W>
using StageFn = void (*)(std::int64_t rest, std::int64_t stride, std::int64_t row, const W* twiddles, const W* x_re,
                         const W* x_im, W* y_re, W* y_im);

/// The same for an odd radix of at most kLargestFftRadix. `roots`: cosines of 2 pi k / radix for k < radix, then sines.
template <class W>
using LargeStageFn = void (*)(int radix, const W* roots, std::int64_t rest, std::int64_t stride, std::int64_t row,
                              const W* twiddles, const W* x_re, const W* x_im, W* y_re, W* y_im);

/// Larger prime factors take Bluestein's algorithm, which is then faster.
inline constexpr int kLargestFftRadix = 127;

/// Returns this processor's stage for a radix: 2, 3, 4 or 5, of floats also 7 or 8.
StageFn<float> fft_stage_f32(int radix);
StageFn<double> fft_stage_f64(int radix);
template <class W>
StageFn<W> fft_stage(int radix) {
  if constexpr (std::is_same_v<W, float>) {
    return fft_stage_f32(radix);
  } else {
    return fft_stage_f64(radix);
  }
}

LargeStageFn<float> fft_large_stage_f32();
LargeStageFn<double> fft_large_stage_f64();
template <class W>
LargeStageFn<W> fft_large_stage() {
  if constexpr (std::is_same_v<W, float>) {
    return fft_large_stage_f32();
  } else {
    return fft_large_stage_f64();
  }
}

/// A plain array: the linker keeps a single copy of standard library code, so none may be compiled for newer
/// processors.
template <class W>
struct StageTable {
  StageFn<W> stages[9];
  LargeStageFn<W> large_stage;
};

TERN_LEVEL_FUNCTIONS(vectors, set_stages, StageTable<float>* f, StageTable<double>* d)

}  // namespace tern::cpu
