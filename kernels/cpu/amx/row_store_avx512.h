// Stores blocks of sums as rows of results.
#pragma once

#include "kernels/cpu/amx/registers_avx512.h"
#include "kernels/cpu/amx/rows.h"

namespace tern::amx {
namespace {  // files of other instruction sets have their own

/// Where sums of 32 columns lie: as rows of 32, or as two tiles of 16 x 16 for each 16 rows.
struct SumsInRows {
  static constexpr std::int64_t kSecond = kTile;  ///< floats to the next 16 columns
  static constexpr std::int64_t row(std::int64_t i) { return i * kBlock; }
};
struct SumsInTiles {
  static constexpr std::int64_t kSecond = kTile * kTile;
  static constexpr std::int64_t row(std::int64_t i) { return i / kTile * 2 * kTile * kTile + i % kTile * kTile; }
};

template <class Sums>
class RowStore {
 public:
  explicit RowStore(const RowResults& results) : r_(results), simple_(results.finish) {}

  /// Sums of rows [row, row + count), at most 32, of the operand, columns from `column`.
  void block(const float* sums, std::int64_t row, std::int64_t count, std::int64_t column) {
    row += r_.begin;
    const std::int64_t columns = std::min(kBlock, r_.columns - column);
    const __mmask16 low = first(columns), high = first(columns - kTile);
    __m512 bias[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    if (r_.bias != nullptr) {
      bias[0] = _mm512_maskz_loadu_ps(low, r_.bias + column);
      if (high != 0) bias[1] = _mm512_maskz_loadu_ps(high, r_.bias + column + kTile);
    }
    std::int64_t in_line = row % r_.pitch;
    const std::int64_t begin = r_.first + row / r_.pitch * r_.width + std::min(in_line, r_.width);
    const std::int64_t number = begin * r_.ld + r_.offset + column;
    alignas(64) float kept[kBlockFloats];
    const bool whole = static_cast<bool>(r_.finish), narrow = r_.narrow;
    std::byte* to = r_.y + number * (narrow ? 2 : 4);
    const std::int64_t step = r_.ld * (narrow ? 2 : 4);
    std::int64_t results = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool is_result = in_line < r_.width;
      in_line = in_line + 1 == r_.pitch ? 0 : in_line + 1;
      if (!is_result) continue;
      const float* from = sums + Sums::row(i);
      const std::int64_t at = number + results * r_.ld;
      const __m512 a = _mm512_add_ps(_mm512_load_ps(from), bias[0]);
      const __m512 b = high == 0 ? a : _mm512_add_ps(_mm512_load_ps(from + Sums::kSecond), bias[1]);
      strange_ = _mm512_fmadd_ps(_mm512_maskz_mov_ps(low, a), _mm512_setzero_ps(), strange_);
      strange_ = _mm512_fmadd_ps(_mm512_maskz_mov_ps(high, b), _mm512_setzero_ps(), strange_);
      if (whole) {
        _mm512_store_ps(kept + results * kBlock, a);
        _mm512_store_ps(kept + results * kBlock + kTile, b);
      } else {
        put(simple_(a, low, at), simple_(b, high, at + kTile), columns, to + results * step);
      }
      ++results;
    }
    if (!whole || results == 0) return;
    r_.finish.apply(kept, kBlock, results, columns, number, r_.ld);
    for (std::int64_t i = 0; i < results; ++i)
      put(_mm512_load_ps(kept + i * kBlock), _mm512_load_ps(kept + i * kBlock + kTile), columns, to + i * step);
  }
  bool finite() const { return _mm512_cmp_ps_mask(strange_, strange_, _CMP_UNORD_Q) == 0; }

 private:
  /// The first `columns` of 32 results.
  void put(__m512 a, __m512 b, std::int64_t columns, std::byte* to) const {
    if (r_.narrow) {
      const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a));
      return columns == kBlock ? _mm512_storeu_si512(to, both)
                               : _mm512_mask_storeu_epi16(to, first_of_32(columns), both);
    }
    if (r_.accumulate) {
      a = _mm512_add_ps(a, _mm512_maskz_loadu_ps(first(columns), to));
      b = _mm512_add_ps(b, _mm512_maskz_loadu_ps(first(columns - kTile), to + kTile * 4));
    }
    _mm512_mask_storeu_ps(to, first(columns), a);
    if (columns > kTile) _mm512_mask_storeu_ps(to + kTile * 4, first(columns - kTile), b);
  }

  const RowResults& r_;
  InRegisters simple_;
  __m512 strange_ = _mm512_setzero_ps();  ///< NaN where a sum was not finite
};

}  // namespace
}  // namespace tern::amx
