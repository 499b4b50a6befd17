#include <algorithm>

#include "kernels/cpu/products/epilogue/registers.h"
#include "kernels/cpu/products/tiles/split_pack.h"
#include "kernels/cpu/simd/tiles.h"

namespace tern::amx {
namespace {

/// The parts of 16 pairs of floats, each rounded to nearest: the low halves are a's.
template <int P>
struct Parts {
  __m512i of[P];
};

/// The upper half of x, rounded, in place: half a unit more, cut off.
inline __m512i rounded(__m512 x) {
  const __m512i half = _mm512_set1_epi32(0x8000), upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000u));
  return _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), half), upper);
}

template <int P>
inline Parts<P> split(__m512 a, __m512 b) {
  Parts<P> p;
  if constexpr (P == kRounded) {
    p.of[0] = rounded_pairs(a, b);
    return p;
  }
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000u));
  for (int i = 0; i < P - 1; ++i) {
    const __m512i low = rounded(a), high = rounded(b);
    p.of[i] = _mm512_or_si512(_mm512_srli_epi32(low, 16), high);
    a = _mm512_sub_ps(a, _mm512_castsi512_ps(low));
    b = _mm512_sub_ps(b, _mm512_castsi512_ps(high));
  }
  // What is left has no more than the upper half's digits. A NaN whose bits ran over above is one still.
  p.of[P - 1] =
      _mm512_ternarylogic_epi32(_mm512_castps_si512(b), upper, _mm512_srli_epi32(_mm512_castps_si512(a), 16), 0xEA);
  return p;
}

template <int P>
void columns_of(const float* x, std::int64_t row, std::int64_t rows, std::int64_t k, std::byte* to) {
  for (std::int64_t at = 0; at < k; at += kStep, to += P * kTileBytes) {
    const __mmask16 low = first(k - at), high = first(k - at - 16);
    __m512i parts[P][16];
    for (std::int64_t i = 0; i < kTile; ++i) {
      Parts<P> p{};
      if (i < rows)
        p = split<P>(_mm512_maskz_loadu_ps(low, x + i * row + at), _mm512_maskz_loadu_ps(high, x + i * row + at + 16));
      for (std::int64_t q = 0; q < P; ++q) parts[q][i] = p.of[q];
    }
    for (std::int64_t q = 0; q < P; ++q) {
      transpose(parts[q]);
      for (std::int64_t i = 0; i < kTile; ++i) _mm512_store_si512(to + q * kTileBytes + i * 64, parts[q][i]);
    }
  }
}

template <int P>
bool rows_of(const float* b, std::int64_t row, std::int64_t k, std::int64_t n, std::byte* to) {
  const __m512 limit = _mm512_set1_ps(0x1p127F);
  bool finite = true;
  for (std::int64_t j = 0; j < n; j += kTile) {
    const __mmask16 mask = first(n - j);
    for (std::int64_t at = 0; at < k; at += kStep, to += P * kTileBytes) {
      for (std::int64_t i = 0; i < kTile; ++i) {
        const std::int64_t low = at + i, high = low + kTile;
        const __m512 a = low < k ? _mm512_maskz_loadu_ps(mask, b + low * row + j) : _mm512_setzero_ps(),
                     c = high < k ? _mm512_maskz_loadu_ps(mask, b + high * row + j) : _mm512_setzero_ps();
        const __mmask16 fine = _mm512_cmp_ps_mask(_mm512_abs_ps(a), limit, _CMP_LT_OQ) &
                               _mm512_cmp_ps_mask(_mm512_abs_ps(c), limit, _CMP_LT_OQ);
        finite = finite && fine == 0xFFFF;
        const Parts<P> p = split<P>(a, c);
        for (std::int64_t q = 0; q < P; ++q) _mm512_store_si512(to + q * kTileBytes + i * 64, p.of[q]);
      }
    }
  }
  return finite;
}

/// The lanes i for which begin <= i < end.
inline __mmask16 lanes(std::int64_t begin, std::int64_t end) {
  return static_cast<__mmask16>(first(end) & ~first(begin));
}

/// Elements at, at + 1 ... of a line; zeros beside it.
inline __m512 load_inside(const float* line, std::int64_t size, std::int64_t at) {
  if (line == nullptr) return _mm512_setzero_ps();
  // The first lanes may lie before the line: an address, not a pointer into it.
  const auto address = reinterpret_cast<std::uintptr_t>(line) + static_cast<std::uintptr_t>(at) * sizeof(float);
  return _mm512_maskz_loadu_ps(lanes(-at, size - at), reinterpret_cast<const float*>(address));
}

/// Elements at, at + 2 ... of a line.
inline __m512 load_every_other(const float* line, std::int64_t size, std::int64_t at) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_ps(load_inside(line, size, at), even, load_inside(line, size, at + 16));
}

inline __m512 load_every(const float* line, std::int64_t size, std::int64_t at, std::int64_t step) {
  if (step == 1) return load_inside(line, size, at);
  if (step == 2) return load_every_other(line, size, at);
  alignas(64) float elements[kTile]{};
  for (std::int64_t i = 0; i < kTile; ++i) {
    const std::int64_t from = at + i * step;
    if (line != nullptr && from >= 0 && from < size) elements[i] = line[from];
  }
  return _mm512_load_ps(elements);
}

template <int P>
void line_of(const LinePair& lines, std::int64_t begin, std::int64_t step, std::int64_t count,
             std::span<std::byte* const> to) {
  std::int64_t i = 0;
  // Whole vectors inside the lines.
  const std::int64_t inside = step == 1 && begin >= 0 && lines.a != nullptr ? std::min(count, lines.size - begin) : 0;
  for (; i + kTile <= inside; i += kTile) {
    const __m512 b = lines.b == nullptr ? _mm512_setzero_ps() : _mm512_loadu_ps(lines.b + begin + i);
    const Parts<P> p = split<P>(_mm512_loadu_ps(lines.a + begin + i), b);
    for (std::int64_t q = 0; q < P; ++q) _mm512_storeu_si512(to[static_cast<std::size_t>(q)] + i * 4, p.of[q]);
  }
  for (; i < count; i += kTile) {
    const std::int64_t at = begin + i * step;
    const Parts<P> p = split<P>(load_every(lines.a, lines.size, at, step), load_every(lines.b, lines.size, at, step));
    for (std::int64_t q = 0; q < P; ++q)
      _mm512_mask_storeu_epi32(to[static_cast<std::size_t>(q)] + i * 4, first(count - i), p.of[q]);
  }
}

}  // namespace

void split_columns(const float* x, std::int64_t row, std::int64_t rows, std::int64_t k, int parts, std::byte* to) {
  (parts == kRounded ? columns_of<kRounded> : columns_of<kAllParts>)(x, row, rows, k, to);
}

bool split_rows(const float* b, std::int64_t row, std::int64_t k, std::int64_t n, int parts, std::byte* to) {
  return (parts == kRounded ? rows_of<kRounded> : rows_of<kAllParts>)(b, row, k, n, to);
}

void split_line(const LinePair& lines, std::int64_t begin, std::int64_t step, std::int64_t count,
                std::span<std::byte* const> to) {
  (to.size() == kRounded ? line_of<kRounded> : line_of<kAllParts>)(lines, begin, step, count, to);
}

void TransposingSink::store(const float* tiles, std::int64_t row, std::int64_t tile, int columns) {
  alignas(64) float block[kBlockFloats];
  const std::int64_t n = std::min(kBlock, shape_.n - row), m0 = first_ + tile * kTile;
  const std::int64_t m = std::min<std::int64_t>(columns * kTile, first_ + count_ - m0);
  const InRegisters simple(o_.finish);
  bool strange = false;
  for (std::int64_t i = 0; i < n; i += kTile) {
    const __mmask16 mask = first(n - i);
    const __m512 bias = o_.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, o_.bias + row + i);
    for (std::int64_t j = 0; j < m; j += kTile) {
      __m512i r[16];
      const float* from = tiles + (i / kTile * 2 + j / kTile) * kTile * kTile;
      for (int q = 0; q < 16; ++q) r[q] = _mm512_load_si512(from + q * kTile);
      transpose(r);
      for (std::int64_t q = 0; q < std::min(kTile, m - j); ++q) {
        const __m512 v = _mm512_add_ps(_mm512_castsi512_ps(r[q]), bias);
        strange = strange || has_strange(v, mask);
        if (!o_.finish) {
          const std::int64_t at = (m0 + j + q) * shape_.n + row + i;
          _mm512_mask_storeu_ps(o_.y + at, mask, simple(v, mask, at));
        } else {
          _mm512_mask_storeu_ps(block + (j + q) * n + i, mask, v);
        }
      }
    }
  }
  if (strange) finite_.store(false, std::memory_order_relaxed);
  if (!o_.finish || m <= 0) return;
  o_.finish.apply(block, n, m, n, m0 * shape_.n + row, shape_.n);
  for (std::int64_t j = 0; j < m; ++j) copy_floats(block + j * n, n, o_.y + (m0 + j) * shape_.n + row);
}

void PlainSink::store(const float* tiles, std::int64_t row, std::int64_t tile, int columns) {
  alignas(64) float block[kBlockFloats];
  const std::int64_t rows = std::min(kBlock, t_.rows - row);
  const Destination* d = tiles_.data() + tile;
  const std::int64_t left = d[0].count, right = columns == 2 ? d[1].count : 0;
  // What a row of two tiles gives lies in one piece: nothing valid lies between them in the result.
  float* to = !t_.finish ? t_.y + row * t_.row + (left > 0 ? d[0].to : columns == 2 ? d[1].to : 0) : block;
  const std::int64_t step = !t_.finish ? t_.row : left + right;
  const InRegisters simple(t_.finish);
  std::int64_t number = t_.begin + row * t_.row + (left > 0 ? d[0].to : columns == 2 ? d[1].to : 0);
  bool strange = false;
  for (std::int64_t i = 0; i < rows; ++i, to += step, number += t_.row) {
    const __m512 bias = _mm512_set1_ps(t_.bias == nullptr ? 0.0F : t_.bias[row + i]);
    const float* from = tiles + i / kTile * 2 * kTile * kTile + i % kTile * kTile;
    if (left > 0) {
      __m512 v = _mm512_maskz_compress_ps(d[0].mask, _mm512_add_ps(_mm512_load_ps(from), bias));
      if (t_.accumulate) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(first(left), to));
      strange = strange || has_strange(v, first(left));
      _mm512_mask_storeu_ps(to, first(left), simple(v, first(left), number));
    }
    if (right > 0) {
      __m512 v = _mm512_maskz_compress_ps(d[1].mask, _mm512_add_ps(_mm512_load_ps(from + kTile * kTile), bias));
      if (t_.accumulate) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(first(right), to + left));
      strange = strange || has_strange(v, first(right));
      _mm512_mask_storeu_ps(to + left, first(right), simple(v, first(right), number + left));
    }
  }
  if (strange) finite_.store(false, std::memory_order_relaxed);
  if (!t_.finish || left + right == 0) return;
  const std::int64_t at = row * t_.row + (left > 0 ? d[0].to : d[1].to);
  t_.finish.apply(block, step, rows, step, t_.begin + at, t_.row);
  for (std::int64_t i = 0; i < rows; ++i) copy_floats(block + i * step, step, t_.y + at + i * t_.row);
}

}  // namespace tern::amx
