// Stores blocks of sums as rows of results.
#pragma once

#include "kernels/cpu/amx/rows.h"

namespace tern::amx {

class RowStore {
 public:
  explicit RowStore(const RowResults& results) : r_(results), simple_(results.finish) {}

  /// Four tiles of 16 x 16 sums: rows [row, row + count) of the operand, columns from `column`.
  void block(const float* tiles, std::int64_t row, std::int64_t count, std::int64_t column) {
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
    const bool whole = static_cast<bool>(r_.finish);
    float* to = whole ? kept : r_.y + number;
    const std::int64_t step = whole ? kBlock : r_.ld;
    std::int64_t results = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool kept_row = in_line < r_.width;
      in_line = in_line + 1 == r_.pitch ? 0 : in_line + 1;
      if (!kept_row) continue;
      const float* from = tiles + i / kTile * 2 * kTile * kTile + i % kTile * kTile;
      const std::int64_t at = number + results * r_.ld;
      const __m512 a = _mm512_add_ps(_mm512_load_ps(from), bias[0]);
      strange_ = _mm512_fmadd_ps(a, _mm512_setzero_ps(), strange_);
      _mm512_mask_storeu_ps(to, low, simple_(a, low, at));
      if (high != 0) {
        const __m512 b = _mm512_add_ps(_mm512_load_ps(from + kTile * kTile), bias[1]);
        strange_ = _mm512_fmadd_ps(b, _mm512_setzero_ps(), strange_);
        _mm512_mask_storeu_ps(to + kTile, high, simple_(b, high, at + kTile));
      }
      to += step;
      ++results;
    }
    if (!whole || results == 0) return;
    r_.finish.apply(kept, kBlock, results, columns, number, r_.ld);
    for (std::int64_t i = 0; i < results; ++i) copy_floats(kept + i * kBlock, columns, r_.y + number + i * r_.ld);
  }
  bool finite() const { return _mm512_cmp_ps_mask(strange_, strange_, _CMP_UNORD_Q) == 0; }

 private:
  const RowResults& r_;
  InRegisters simple_;
  __m512 strange_ = _mm512_setzero_ps();  ///< NaN where a sum was not finite
};

}  // namespace tern::amx
