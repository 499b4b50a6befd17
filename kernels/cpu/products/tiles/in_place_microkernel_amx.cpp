// Rows of a weight as they lie by packed rows of x: two by two tiles of sums stay in registers while steps of k go by,
// a few steps at a time, so that what these read of the weight stays in the first cache for all rows of x. The
// processor fetches what follows in a row by itself; short rows are asked for a block ahead.
#include <algorithm>

#include "kernels/cpu/products/epilogue/row_store.h"
#include "kernels/cpu/products/tiles/in_place_driver.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/tiles.h"

namespace tern::amx {
namespace {

constexpr std::int64_t kStepBytes = 2 * kTileBytes;  // of a block of 32 rows, as tiles
constexpr std::int64_t kSteps = 8;                   // before sums leave the registers
constexpr std::int64_t kShortBlock = 96 << 10;       // bytes of a block whose rows are asked for
constexpr std::size_t kLeftSlot = 5, kSumsSlot = 6;

/// Steps of a block of the weight.
struct Steps {
  const std::byte* data = nullptr;  ///< of the first step, row 0
  std::int64_t row = 0;             ///< bytes between rows
  std::int64_t step = 0, tile = 0;  ///< bytes to the next step, and to row 16
  std::int64_t count = 0;
};

/// Lines of memory in their order.
struct Following {
  const std::byte *at = nullptr, *end = nullptr;
  void ask(std::int64_t lines) {
    for (; lines > 0 && at < end; --lines, at += 64) __builtin_prefetch(at, 0, 2);
  }
};

/// The products of some steps with one or two column tiles of x.
template <bool Both>
void multiply_steps(const Steps& s, const std::byte* right, Following& following, std::int64_t lines) {
  const std::byte* left = s.data;
  for (std::int64_t i = 0; i < s.count; ++i, left += s.step, right += kStepBytes) {
    TERN_TILE_LOAD(4, left, s.row);
    TERN_TILE_LOAD(6, right, 64);
    TERN_TILE_LOAD(5, left + s.tile, s.row);
    if constexpr (Both) TERN_TILE_LOAD(7, right + kTileBytes, 64);
    TERN_TILE_MULTIPLY(0, 4, 6);
    TERN_TILE_MULTIPLY(2, 5, 6);
    if constexpr (Both) {
      TERN_TILE_MULTIPLY(1, 4, 7);
      TERN_TILE_MULTIPLY(3, 5, 7);
    }
    following.ask(lines);
  }
}

/// `count` steps of `rows` rows (at most 32) as tiles, with zeros for elements and rows that do not exist: `k` elements
/// from `from` on do.
void copy_steps(const std::byte* from, std::int64_t row, std::int64_t rows, std::int64_t k, std::byte* to) {
  for (std::int64_t at = 0; at < k; at += kStep, from += 64, to += kStepBytes) {
    const __mmask32 mask = first_of_32(k - at);
    for (std::int64_t i = 0; i < kBlock; ++i)
      _mm512_store_si512(to + i * 64,
                         i < rows ? _mm512_maskz_loadu_epi16(mask, from + i * row) : _mm512_setzero_si512());
  }
}

void start_sums(const float* sums, bool from_zero) {
  if (from_zero) {
    TERN_TILE_ZERO(0);
    TERN_TILE_ZERO(1);
    TERN_TILE_ZERO(2);
    TERN_TILE_ZERO(3);
    return;
  }
  TERN_TILE_LOAD(0, sums, 64);
  TERN_TILE_LOAD(1, sums + 512, 64);
  TERN_TILE_LOAD(2, sums + 256, 64);
  TERN_TILE_LOAD(3, sums + 768, 64);
}

void keep_sums(float* sums) {
  TERN_TILE_STORE(0, sums);
  TERN_TILE_STORE(1, sums + 512);
  TERN_TILE_STORE(2, sums + 256);
  TERN_TILE_STORE(3, sums + 768);
}

/// Each tile by itself: rows of the weight become columns of y.
void transpose_tiles(float* sums, std::int64_t count) {
  for (std::int64_t t = 0; t < count; ++t, sums += kTile * kTile) {
    __m512i r[kTile];
    for (std::int64_t i = 0; i < kTile; ++i) r[i] = _mm512_load_si512(sums + i * kTile);
    transpose(r);
    for (std::int64_t i = 0; i < kTile; ++i) _mm512_store_si512(sums + i * kTile, r[i]);
  }
}

}  // namespace

bool multiply_in_place(const WeightRows& weight, Range blocks, const std::byte* x, std::int64_t count,
                       const RowResults& results) {
  RowStore<SumsInTiles> store(results);
  const std::int64_t steps = steps_of(weight.k), whole = weight.k / kStep, pairs = (count + kBlock - 1) / kBlock,
                     pieces = (steps + kSteps - 1) / kSteps, depth = (steps + pieces - 1) / pieces,
                     block = kBlock * weight.row;
  auto* const sums = thread_buffer<float>(static_cast<std::size_t>(pairs * kBlockFloats), kSumsSlot);
  auto* const copied = thread_buffer<std::byte>(static_cast<std::size_t>(depth * kStepBytes), kLeftSlot);
  Following following;
  std::int64_t lines = 0;
  if (block <= kShortBlock && blocks.begin + 1 < blocks.end) {
    following = {weight.data + (blocks.begin + 1) * block,
                 weight.data + std::min(weight.n * weight.row, blocks.end * block)};
    lines = (block / 64 + steps * pairs - 1) / (steps * pairs);
  }
  const TileScope scope;
  for (std::int64_t b = blocks.begin; b < blocks.end; ++b) {
    const std::int64_t rows = std::min(kBlock, weight.n - b * kBlock);
    for (std::int64_t begin = 0; begin < steps; begin += depth) {
      const std::int64_t end = std::min(steps, begin + depth);
      Steps left{weight.data + b * block + begin * 64, weight.row, 64, kTile * weight.row, end - begin};
      if (rows < kBlock || end > whole) {  // not to read what is behind the weight, or multiply what follows in memory
        copy_steps(left.data, weight.row, rows, std::min(weight.k, end * kStep) - begin * kStep, copied);
        left = {copied, 64, kStepBytes, kTileBytes, end - begin};
      }
      for (std::int64_t p = 0; p < pairs; ++p) {
        float* const kept = sums + p * kBlockFloats;
        const bool both = count - p * kBlock > kTile;
        start_sums(kept, begin == 0);
        if (end == steps) store.ask(p * kBlock, std::min(kBlock, count - p * kBlock), b * kBlock);
        (both ? multiply_steps<true> : multiply_steps<false>)(left, x + (p * steps + begin) * kStepBytes, following,
                                                              lines);
        keep_sums(kept);
        if (end < steps) continue;
        transpose_tiles(kept, both ? 4 : 2);
        store.block(kept, p * kBlock, std::min(kBlock, count - p * kBlock), b * kBlock);
      }
    }
  }
  return store.finite();
}

}  // namespace tern::amx
