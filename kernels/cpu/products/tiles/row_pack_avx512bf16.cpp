// Floats rounded to bfloat16, in the orders in which tiles read them.
#include <algorithm>

#include "kernels/cpu/products/epilogue/registers.h"
#include "kernels/cpu/products/tiles/rows.h"
#include "kernels/cpu/simd/tiles.h"

namespace tern::amx {
namespace {

/// 32 elements, of which `count` are there, as bfloat16 in their order.
inline __m512i rounded_line(const float* x, std::int64_t count) {
  const __m512 low = _mm512_maskz_loadu_ps(first(count), x),
               high = count > kTile ? _mm512_maskz_loadu_ps(first(count - kTile), x + kTile) : _mm512_setzero_ps();
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}
inline __m512i rounded_line(const std::uint16_t* x, std::int64_t count) {
  return _mm512_maskz_loadu_epi16(first_of_32(count), x);
}

template <class T>
void pack(const T* x, std::int64_t row, Range rows, std::int64_t k, const RowLayout& layout, std::byte* to) {
  const std::int64_t steps = steps_of(k);
  for (std::int64_t r = rows.begin; r < rows.end; ++r, x += row) {
    std::byte* at = to + r / kTile * layout.tile + r % kTile * layout.row;
    for (std::int64_t s = 0; s < steps; ++s, at += layout.step)
      _mm512_store_si512(at, rounded_line(x + s * kStep, k - s * kStep));
  }
}

template <class T>
void line(const T* x, std::int64_t count, std::byte* to) {
  for (; count >= kStep; count -= kStep, x += kStep, to += 64) _mm512_storeu_si512(to, rounded_line(x, kStep));
  if (count > 0) _mm512_mask_storeu_epi16(to, first_of_32(count), rounded_line(x, count));
}

template <class T>
void pack_by_rows(const T* w, std::int64_t row, std::int64_t n, std::int64_t k, std::byte* to) {
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

inline __m512 widened(const float* x, __mmask16 mask) {
  return _mm512_maskz_loadu_ps(mask, x);
}
inline __m512 widened(const std::uint16_t* x, __mmask16 mask) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, x)), 16));
}

template <class T>
bool pack_by_columns(const T* w, std::int64_t row, std::int64_t k, std::int64_t n, std::byte* to) {
  __m512 strange = _mm512_setzero_ps();
  for (std::int64_t b = 0; b < n; b += kBlock) {
    for (std::int64_t s = 0; s < k; s += kStep) {
      for (std::int64_t t = b; t < b + kBlock; t += kTile, to += kTileBytes) {
        const __mmask16 mask = first(n - t);
        for (std::int64_t i = 0; i < kTile; ++i) {
          const std::int64_t at = s + 2 * i;
          const __m512 even = at < k ? widened(w + at * row + t, mask) : _mm512_setzero_ps(),
                       odd = at + 1 < k ? widened(w + (at + 1) * row + t, mask) : _mm512_setzero_ps();
          strange = _mm512_fmadd_ps(even, _mm512_setzero_ps(), _mm512_fmadd_ps(odd, _mm512_setzero_ps(), strange));
          _mm512_store_si512(to + i * 64, rounded_pairs(even, odd));
        }
      }
    }
  }
  return _mm512_cmp_ps_mask(strange, strange, _CMP_UNORD_Q) == 0;
}

template <class F>
void with_type(Elements x, const F& f) {
  x.narrow ? f(reinterpret_cast<const std::uint16_t*>(x.data)) : f(reinterpret_cast<const float*>(x.data));
}

}  // namespace

void pack_rows(Elements x, std::int64_t row, Range rows, std::int64_t k, const RowLayout& layout, std::byte* to) {
  with_type(x, [&](const auto* at) { pack(at, row, rows, k, layout, to); });
}

void round_line(Elements x, std::int64_t count, std::byte* to) {
  with_type(x, [&](const auto* at) { line(at, count, to); });
}

void pack_weight(Elements w, std::int64_t row, std::int64_t n, std::int64_t k, std::byte* to) {
  with_type(w, [&](const auto* at) { pack_by_rows(at, row, n, k, to); });
}

bool pack_columns(Elements w, std::int64_t row, std::int64_t k, std::int64_t n, std::byte* to) {
  bool finite = false;
  with_type(w, [&](const auto* at) { finite = pack_by_columns(at, row, k, n, to); });
  return finite;
}

}  // namespace tern::amx
