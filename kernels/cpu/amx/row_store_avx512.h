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
    const bool second = r_.columns - column > kTile;
    if (r_.narrow)
      return second ? rows_of<Kind::narrow, 2>(sums, row, count, column)
                    : rows_of<Kind::narrow, 1>(sums, row, count, column);
    if (r_.accumulate) return rows_of<Kind::added, 2>(sums, row, count, column);
    second ? rows_of<Kind::plain, 2>(sums, row, count, column) : rows_of<Kind::plain, 1>(sums, row, count, column);
  }
  /// Asks for the memory of rows [row, row + count) of one line, all of them results, to write to it, and of what is
  /// added to them. Another processor may have it: in its cache, or one that it read before.
  void ask(std::int64_t row, std::int64_t count, std::int64_t column) const {
    row += r_.begin;
    const std::int64_t lines = r_.pitch == RowResults::kNoPitch ? 0 : row / r_.pitch,
                       result = r_.first + lines * r_.width + row - lines * r_.pitch;
    std::int64_t at = result * r_.ld + r_.offset + column;
    const bool second = r_.columns - column > kTile && !r_.narrow;
    for (std::int64_t i = 0; i < count; ++i, at += r_.ld) {
      const std::byte* to = r_.y + at * (r_.narrow ? 2 : 4);
      __builtin_prefetch(to, 1);
      if (second) __builtin_prefetch(to + 64, 1);
      simple_.ask(at, second);
    }
  }
  bool finite() const { return _mm512_cmp_ps_mask(strange_, strange_, _CMP_UNORD_Q) == 0; }

 private:
  enum class Kind : std::uint8_t { plain, added, narrow };
  /// Columns of 32 that there are, and where the first one is stored.
  struct Place {
    __mmask16 low, high;
    std::byte* to;
  };

  template <Kind kKind, int Vectors>
  void rows_of(const float* sums, std::int64_t row, std::int64_t count, std::int64_t column) {
    row += r_.begin;
    const std::int64_t columns = std::min(kBlock, r_.columns - column), pitch = r_.pitch, width = r_.width, ld = r_.ld;
    const __mmask16 low = first(columns), high = first(columns - kTile);
    __m512 bias[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    if (r_.bias != nullptr) {
      bias[0] = _mm512_maskz_loadu_ps(low, r_.bias + column);
      if (Vectors == 2) bias[1] = _mm512_maskz_loadu_ps(high, r_.bias + column + kTile);
    }
    std::int64_t in_line = row % pitch;
    const std::int64_t begin = r_.first + row / pitch * width + std::min(in_line, width),
                       number = begin * ld + r_.offset + column, step = ld * (kKind == Kind::narrow ? 2 : 4);
    alignas(64) float kept[kBlockFloats];
    const bool whole = static_cast<bool>(r_.finish);
    const InRegisters simple = simple_;
    std::byte* to = r_.y + number * (kKind == Kind::narrow ? 2 : 4);
    // Of one row after the other, in registers: an addition waits for the one before it.
    __m512 strange = strange_, strange_beside = _mm512_setzero_ps();
    std::int64_t results = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool is_result = in_line < width;
      in_line = in_line + 1 == pitch ? 0 : in_line + 1;
      if (!is_result) continue;
      const float* from = sums + Sums::row(i);
      const std::int64_t at = number + results * ld;
      const __m512 a = _mm512_add_ps(_mm512_load_ps(from), bias[0]);
      const __m512 b = Vectors == 1 ? a : _mm512_add_ps(_mm512_load_ps(from + Sums::kSecond), bias[1]);
      strange = _mm512_mask3_fmadd_ps(a, _mm512_setzero_ps(), strange, low);
      if (Vectors == 2) strange_beside = _mm512_mask3_fmadd_ps(b, _mm512_setzero_ps(), strange_beside, high);
      if (whole) {
        _mm512_store_ps(kept + results * kBlock, a);
        _mm512_store_ps(kept + results * kBlock + kTile, b);
      } else {
        put<kKind, Vectors>(simple(a, low, at), Vectors == 1 ? b : simple(b, high, at + kTile),
                            {low, high, to + results * step});
      }
      ++results;
    }
    strange_ = _mm512_add_ps(strange, strange_beside);
    if (!whole || results == 0) return;
    r_.finish.apply(kept, kBlock, results, columns, number, ld);
    for (std::int64_t i = 0; i < results; ++i)
      put<kKind, Vectors>(_mm512_load_ps(kept + i * kBlock), _mm512_load_ps(kept + i * kBlock + kTile),
                          {low, high, to + i * step});
  }

  template <Kind kKind, int Vectors>
  static void put(__m512 a, __m512 b, const Place& p) {
    if constexpr (kKind == Kind::narrow) {
      const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a));
      if (p.high == 0xFFFF) return _mm512_storeu_si512(p.to, both);
      return _mm512_mask_storeu_epi16(p.to, _cvtu32_mask32(p.low | static_cast<std::uint32_t>(p.high) << 16), both);
    }
    if constexpr (kKind == Kind::added) {
      a = _mm512_add_ps(a, _mm512_maskz_loadu_ps(p.low, p.to));
      b = _mm512_add_ps(b, _mm512_maskz_loadu_ps(p.high, p.to + kTile * 4));
    }
    if (p.high == 0xFFFF) {
      _mm512_storeu_ps(p.to, a);
      return _mm512_storeu_ps(p.to + kTile * 4, b);
    }
    _mm512_mask_storeu_ps(p.to, p.low, a);
    if constexpr (Vectors == 2) _mm512_mask_storeu_ps(p.to + kTile * 4, p.high, b);
  }

  const RowResults& r_;
  InRegisters simple_;
  __m512 strange_ = _mm512_setzero_ps();  ///< NaN where a sum was not finite
};

}  // namespace
}  // namespace tern::amx
