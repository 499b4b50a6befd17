// One stage of Stockham's transform: butterflies of one radix over all lines.
#pragma once

#include <cstdint>

namespace tern::cpu {

/// For p < rest, q < stride: a[k] = x[q + stride (p + rest k)]; y[q + stride (radix p + j)] = (sum a[k] w^(jk))
/// t[p][j], w = exp(-2 pi i / radix). `twiddles`: real and imaginary parts of t[p][j] for j = 1 .. radix - 1. `radix`
/// is 2, 3, 4, 5, 7, 11 or 13.
template <class W>
void fft_stage(int radix, std::int64_t rest, std::int64_t stride, const W* twiddles, const W* x_re, const W* x_im,
               W* y_re, W* y_im);

}  // namespace tern::cpu
