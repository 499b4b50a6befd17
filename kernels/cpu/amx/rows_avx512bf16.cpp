// Rows by a packed weight with AVX512_BF16, where there are no tiles: pairs of a row's elements are broadcast over
// pairs of 16 columns each, which lie so in the packed weight. Sums of 8 rows by 32 columns stay in registers.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/amx/row_store_avx512.h"

namespace tern::amx {
namespace {

constexpr std::int64_t kRows = 8;  // 16 registers of sums: as many as the instruction's latency wants

inline __m512bh pairs(const std::byte* at) {
  return reinterpret_cast<__m512bh>(_mm512_load_si512(at));
}

/// Sums of 8 rows from `rows` on, `row` bytes apart, by a block of the weight: tiles of 16 x 16 as RowStore has them.
void multiply(const std::byte* rows, std::int64_t row, std::span<const std::int64_t> steps, const std::byte* weight,
              float* sums) {
  __m512 sum[kRows][2];
  for (auto& of_row : sum) of_row[0] = of_row[1] = _mm512_setzero_ps();
  for (const std::int64_t step : steps) {
    const std::byte* at = rows + step;
    for (std::int64_t p = 0; p < kTile; ++p, weight += 64) {
      const __m512bh left = pairs(weight), right = pairs(weight + kTileBytes);
#pragma GCC unroll 8
      for (std::int64_t r = 0; r < kRows; ++r) {
        std::int32_t two = 0;
        std::memcpy(&two, at + r * row + p * 4, sizeof two);
        const auto both = reinterpret_cast<__m512bh>(_mm512_set1_epi32(two));
        sum[r][0] = _mm512_dpbf16_ps(sum[r][0], left, both);
        sum[r][1] = _mm512_dpbf16_ps(sum[r][1], right, both);
      }
    }
    weight += kTileBytes;
  }
  for (std::int64_t r = 0; r < kRows; ++r) {
    _mm512_store_ps(sums + r * kTile, sum[r][0]);
    _mm512_store_ps(sums + kTile * kTile + r * kTile, sum[r][1]);
  }
}

}  // namespace

bool multiply_rows_on_vectors(const TileRows& rows, const std::byte* weight, Range blocks, const RowResults& results) {
  const auto steps = static_cast<std::int64_t>(rows.steps.size());
  alignas(64) float sums[kBlockFloats];
  RowStore store(results);
  for (std::int64_t b = blocks.begin; b < blocks.end; ++b) {
    const std::byte* const block = weight + b * steps * 2 * kTileBytes;
    for (std::int64_t begin = 0; begin < rows.count; begin += kBlock) {
      const std::int64_t count = std::min(kBlock, rows.count - begin);
      for (std::int64_t r = 0; r < count; r += kRows) {
        const std::int64_t at = begin + r;
        multiply(rows.data + at / kTile * rows.tile + at % kTile * rows.row, rows.row, rows.steps, block,
                 sums + r / kTile * 2 * kTile * kTile + r % kTile * kTile);
      }
      store.block(sums, begin, count, b * kBlock);
    }
  }
  return store.finite();
}

}  // namespace tern::amx
