// Stores blocks of sums as rows of results.
#pragma once

#include <type_traits>

#include "kernels/cpu/products/epilogue/registers.h"
#include "kernels/cpu/products/tiles/rows.h"

namespace tern::tiles {
namespace {  // files of other instruction sets have their own

/// The layout of sums of 32 columns: rows of 32, or as two tiles of 16 x 16 for each 16 rows.
struct SumsInRows {
  static constexpr std::int64_t kSecond = kTile;  ///< floats to the next 16 columns
  static constexpr std::int64_t row(std::int64_t i) { return i * kBlock; }
};
struct SumsInTiles {
  static constexpr std::int64_t kSecond = kTile * kTile;
  static constexpr std::int64_t row(std::int64_t i) { return i / kTile * 2 * kTile * kTile + i % kTile * kTile; }
};

/// Sums that are floats, and the bias that is added to them.
struct FloatSums {
  static constexpr bool kFloats = true;
  using Bias = __m512;
  static Bias no_bias() { return _mm512_setzero_ps(); }
  static const float* bias(const RowResults& r) { return r.bias; }
  static Bias load(__mmask16 mask, const float* from) { return _mm512_maskz_loadu_ps(mask, from); }
  static __m512 value(const float* sums, Bias bias) { return _mm512_add_ps(_mm512_load_ps(sums), bias); }
};

/// Sums of 32 bits that become floats, or with `kKept` stay the integers that they are, seen as floats.
template <bool kKept>
struct IntegerSums {
  static constexpr bool kFloats = false;
  using Bias = __m512i;
  static Bias no_bias() { return _mm512_setzero_si512(); }
  static const std::int32_t* bias(const RowResults& r) { return r.offsets; }
  static Bias load(__mmask16 mask, const std::int32_t* from) { return _mm512_maskz_loadu_epi32(mask, from); }
  static __m512 value(const float* sums, Bias offset) {
    const __m512i sum = _mm512_add_epi32(_mm512_load_si512(sums), offset);
    return kKept ? _mm512_castsi512_ps(sum) : _mm512_cvtepi32_ps(sum);
  }
};

template <class Sums, class Values = FloatSums>
class RowStore {
 public:
  explicit RowStore(const RowResults& results)
      : r_(results), simple_(results.finish), is_dense_(results.pitch == results.width) {}

  /// Sums of rows [row, row + count), at most 32, of the operand, columns from `column`.
  void block(const float* sums, std::int64_t row, std::int64_t count, std::int64_t column) {
    const bool second = r_.columns - column > kTile, adds = simple_.adds();
    const auto store = [&]<Kind kKind>(std::integral_constant<Kind, kKind>) {
      if (adds) return rows_of<kKind, 2, true>(sums, row, count, column);
      second ? rows_of<kKind, 2, false>(sums, row, count, column) : rows_of<kKind, 1, false>(sums, row, count, column);
    };
    if constexpr (Values::kFloats) {  // integers are stored on processors that do not multiply bfloat16, too
      if (r_.narrow) return store(std::integral_constant<Kind, Kind::narrow>());
      if (r_.accumulate) return store(std::integral_constant<Kind, Kind::added>());
    }
    store(std::integral_constant<Kind, Kind::plain>());
  }
  /// Asks for the memory of rows [row, row + count) of one line, all of them results, to write to it, and of what is
  /// added to them. Another processor may have it: in its cache, or one that it read before.
  void ask(std::int64_t row, std::int64_t count, std::int64_t column) const {
    row += r_.begin;
    const std::int64_t lines = lines_before(row), result = r_.first + lines * r_.width + row - lines * r_.pitch;
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
  template <Kind kKind>
  static constexpr std::int64_t kBytes = kKind == Kind::narrow ? 2 : 4;
  /// Columns of 32 that there are, and where the first one is stored.
  struct RowSlice {
    __mmask16 low, high;
    std::byte* data;
  };

  std::int64_t lines_before(std::int64_t row) const { return is_dense_ ? 0 : row / r_.pitch; }

  /// Neighbouring results of a line: sums from row `i` on, the first one's element number, and the columns.
  struct Run {
    std::int64_t i, count, number;
    __mmask16 low, high;
    typename Values::Bias bias[2];
  };

  template <Kind kKind, int Vectors, bool kAdds>
  void rows_of(const float* sums, std::int64_t row, std::int64_t count, std::int64_t column) {
    row += r_.begin;
    const std::int64_t columns = std::min(kBlock, r_.columns - column), lines = lines_before(row);
    Run run{.low = first(columns), .high = first(columns - kTile)};
    run.bias[0] = run.bias[1] = Values::no_bias();
    if (const auto* bias = Values::bias(r_)) {
      run.bias[0] = Values::load(run.low, bias + column);
      if (Vectors == 2) run.bias[1] = Values::load(run.high, bias + column + kTile);
    }
    std::int64_t in_line = row - lines * r_.pitch;
    const std::int64_t begin = r_.first + lines * r_.width + (is_dense_ ? in_line : std::min(in_line, r_.width)),
                       number = begin * r_.ld + r_.offset + column;
    alignas(64) float kept[kBlockFloats];
    const bool whole = static_cast<bool>(r_.finish);  // 8-bit integers are made by it
    std::int64_t results = 0;
    for (std::int64_t i = 0; i < count; in_line = 0) {
      run.i = i;
      run.count = is_dense_ ? count : std::clamp<std::int64_t>(r_.width - in_line, 0, count - i);
      run.number = number + results * r_.ld;
      if (whole) {
        buffer_sums<Vectors>(sums, run, kept + results * kBlock);
      } else {
        store<kKind, Vectors, kAdds>(sums, run);
      }
      results += run.count;
      i += is_dense_ ? count : r_.pitch - in_line;
    }
    if (!whole || results == 0) return;
    if (kKind == Kind::plain && r_.finish.store(kept, kBlock, results, columns, number, r_.ld)) return;
    r_.finish.apply(kept, kBlock, results, columns, number, r_.ld);
    std::byte* to = r_.y + number * kBytes<kKind>;
    for (std::int64_t i = 0; i < results; ++i, to += r_.ld * kBytes<kKind>)
      store_columns<kKind, Vectors>(_mm512_load_ps(kept + i * kBlock), _mm512_load_ps(kept + i * kBlock + kTile),
                                    {run.low, run.high, to});
  }

  template <Kind kKind, int Vectors, bool kAdds>
  void store(const float* sums, const Run& run) {
    const InRegisters simple = simple_;
    const std::int64_t ld = r_.ld;
    // Two chains of additions: an addition waits for the one before it.
    __m512 strange = strange_, strange_beside = _mm512_setzero_ps();
    std::byte* to = r_.y + run.number * kBytes<kKind>;
    std::int64_t at = run.number;
    for (std::int64_t i = run.i; i < run.i + run.count; ++i, at += ld, to += ld * kBytes<kKind>) {
      const float* from = sums + Sums::row(i);
      __m512 a = Values::value(from, run.bias[0]), b = a;
      strange = _mm512_mask3_fmadd_ps(a, _mm512_setzero_ps(), strange, run.low);
      a = simple.apply<kAdds>(a, run.low, at);
      if constexpr (Vectors == 2) {
        b = Values::value(from + Sums::kSecond, run.bias[1]);
        strange_beside = _mm512_mask3_fmadd_ps(b, _mm512_setzero_ps(), strange_beside, run.high);
        b = simple.apply<kAdds>(b, run.high, at + kTile);
      }
      store_columns<kKind, Vectors>(a, b, {run.low, run.high, to});
    }
    strange_ = _mm512_add_ps(strange, strange_beside);
  }

  /// Keeps sums with the bias, for a whole epilogue.
  template <int Vectors>
  void buffer_sums(const float* sums, const Run& run, float* kept) {
    __m512 strange = strange_;
    for (std::int64_t i = run.i; i < run.i + run.count; ++i, kept += kBlock) {
      const float* from = sums + Sums::row(i);
      const __m512 a = Values::value(from, run.bias[0]);
      if constexpr (Values::kFloats) strange = _mm512_mask3_fmadd_ps(a, _mm512_setzero_ps(), strange, run.low);
      _mm512_store_ps(kept, a);
      if constexpr (Vectors == 2) {
        const __m512 b = Values::value(from + Sums::kSecond, run.bias[1]);
        if constexpr (Values::kFloats) strange = _mm512_mask3_fmadd_ps(b, _mm512_setzero_ps(), strange, run.high);
        _mm512_store_ps(kept + kTile, b);
      }
    }
    strange_ = strange;
  }

  template <Kind kKind, int Vectors>
  static void store_columns(__m512 a, __m512 b, const RowSlice& p) {
    if constexpr (kKind == Kind::narrow) {
      const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a));
      if (p.high == 0xFFFF) return _mm512_storeu_si512(p.data, both);
      return _mm512_mask_storeu_epi16(p.data, _cvtu32_mask32(p.low | static_cast<std::uint32_t>(p.high) << 16), both);
    }
    if constexpr (kKind == Kind::added) {
      a = _mm512_add_ps(a, _mm512_maskz_loadu_ps(p.low, p.data));
      b = _mm512_add_ps(b, _mm512_maskz_loadu_ps(p.high, p.data + kTile * 4));
    }
    if (p.high == 0xFFFF) {
      _mm512_storeu_ps(p.data, a);
      return _mm512_storeu_ps(p.data + kTile * 4, b);
    }
    _mm512_mask_storeu_ps(p.data, p.low, a);
    if constexpr (Vectors == 2) _mm512_mask_storeu_ps(p.data + kTile * 4, p.high, b);
  }

  const RowResults& r_;
  InRegisters simple_;
  bool is_dense_;                         ///< rows are results
  __m512 strange_ = _mm512_setzero_ps();  ///< NaN where a sum was not finite
};

}  // namespace
}  // namespace tern::tiles
