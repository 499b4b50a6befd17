// Floats rounded to bfloat16, in the orders in which tiles read them.
#include <algorithm>

#include "kernels/cpu/amx/registers_amx.h"
#include "kernels/cpu/amx/rows.h"
#include "kernels/cpu/amx/tiles_amx.h"

namespace tern::amx {
namespace {

/// 32 floats, of which `count` are there, as bfloat16 in their order.
inline __m512i rounded_line(const float* x, std::int64_t count) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(count > kTile ? _mm512_maskz_loadu_ps(first(count - kTile), x + kTile)
                                                                     : _mm512_setzero_ps(),
                                                       _mm512_maskz_loadu_ps(first(count), x)));
}

}  // namespace

void pack_rows(const float* x, std::int64_t row, Range rows, std::int64_t k, std::byte* to) {
  const std::int64_t steps = steps_of(k);
  for (std::int64_t r = rows.begin; r < rows.end; ++r, x += row) {
    std::byte* at = to + (r / kTile * steps * kTile + r % kTile) * 64;
    for (std::int64_t s = 0; s < steps; ++s, at += kTileBytes)
      _mm512_store_si512(at, rounded_line(x + s * kStep, k - s * kStep));
  }
}

void round_line(const float* x, std::int64_t count, std::byte* to) {
  for (; count >= kStep; count -= kStep, x += kStep, to += 64) _mm512_storeu_si512(to, rounded_line(x, kStep));
  if (count > 0) _mm512_mask_storeu_epi16(to, (1u << count) - 1, rounded_line(x, count));
}

void pack_weight(const float* w, std::int64_t row, std::int64_t n, std::int64_t k, std::byte* to) {
  for (std::int64_t b = 0; b < n; b += kBlock) {
    for (std::int64_t s = 0; s < k; s += kStep) {
      for (std::int64_t t = b; t < b + kBlock; t += kTile, to += kTileBytes) {
        __m512i pairs[kTile];
        for (std::int64_t i = 0; i < kTile; ++i)
          pairs[i] = t + i < n ? rounded_line(w + (t + i) * row + s, k - s) : _mm512_setzero_si512();
        transpose(pairs);
        for (std::int64_t i = 0; i < kTile; ++i) _mm512_store_si512(to + i * 64, pairs[i]);
      }
    }
  }
}

}  // namespace tern::amx
