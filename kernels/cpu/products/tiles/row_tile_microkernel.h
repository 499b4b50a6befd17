// Rows by a packed weight on matrix tiles, of any type that they multiply: two by two tiles of sums stay in registers
// while steps of k go by, some steps at a time, so that what these read of the weight stays in the first cache for all
// rows.
#pragma once

#include <algorithm>

#include "kernels/cpu/products/epilogue/row_store.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/tiles.h"

namespace tern::tiles {
namespace {  // files of other instruction sets have their own

constexpr std::int64_t kStepBytes = 2 * kTileBytes;  // bytes of a step of a block of the weight
constexpr std::int64_t kMostSteps = 12, kSteps = 8;  // steps in one piece; otherwise about so many at a time
constexpr std::size_t kRowSumsSlot = 6;

/// Steps that are done before sums leave the registers: a block's part of the weight and the rows' fit the first cache.
std::int64_t steps_at_a_time(std::int64_t steps) {
  if (steps <= kMostSteps) return steps;
  const std::int64_t pieces = (steps + kSteps - 1) / kSteps;
  return (steps + pieces - 1) / pieces;
}

struct RowTilePiece {
  const std::byte *rows, *weight, *next;  ///< operands of step 0; memory to prefetch
  std::int64_t tile, row, lines;          ///< lines of `next` in each step
  const std::int64_t* steps;
  std::int64_t count;
};

/// Products::multiply<sums, left, right>() adds the products of a step.
template <class Products, bool Both>
inline void multiply_steps(const RowTilePiece& p) {
  const std::byte *weight = p.weight, *next = p.next;
  for (std::int64_t s = 0; s < p.count; ++s, weight += kStepBytes, next += kStepBytes) {
    const std::byte* rows = p.rows + p.steps[s];
    TERN_TILE_LOAD(6, weight, 64);
    TERN_TILE_LOAD(4, rows, p.row);
    TERN_TILE_LOAD(7, weight + kTileBytes, 64);
    if constexpr (Both) TERN_TILE_LOAD(5, rows + p.tile, p.row);
    Products::template multiply<0, 4, 6>();
    Products::template multiply<1, 4, 7>();
    if constexpr (Both) {
      Products::template multiply<2, 5, 6>();
      Products::template multiply<3, 5, 7>();
    }
    for (std::int64_t l = 0; l < p.lines; ++l) __builtin_prefetch(next + l * 64, 0, 2);
  }
}

inline void start(const float* sums, bool from_zero) {
  if (from_zero) {
    TERN_TILE_ZERO(0);
    TERN_TILE_ZERO(1);
    TERN_TILE_ZERO(2);
    TERN_TILE_ZERO(3);
    return;
  }
  TERN_TILE_LOAD(0, sums, 64);
  TERN_TILE_LOAD(1, sums + 256, 64);
  TERN_TILE_LOAD(2, sums + 512, 64);
  TERN_TILE_LOAD(3, sums + 768, 64);
}

inline void finish(float* sums) {
  TERN_TILE_STORE(0, sums);
  TERN_TILE_STORE(1, sums + 256);
  TERN_TILE_STORE(2, sums + 512);
  TERN_TILE_STORE(3, sums + 768);
}

/// Store has `block`, as RowStore.
template <class Products, class Store>
void multiply_rows_in_tiles(const TileRows& rows, const std::byte* weight, IndexRange blocks, Store& store) {
  const auto steps = static_cast<std::int64_t>(rows.steps.size());
  const std::int64_t depth = steps_at_a_time(steps), pairs = (rows.count + kBlock - 1) / kBlock,
                     lines = (kStepBytes / 64 + pairs - 1) / pairs;
  float* const sums =
      thread_buffer<float>(static_cast<std::size_t>((depth == steps ? 1 : pairs) * kBlockFloats), kRowSumsSlot);
  const TileScope scope;
  for (std::int64_t b = blocks.begin; b < blocks.end; ++b) {
    for (std::int64_t begin = 0; begin < steps; begin += depth) {
      const std::int64_t count = std::min(depth, steps - begin);
      const std::byte* const at = weight + (b * steps + begin) * kStepBytes;
      const std::byte* const next = b + 1 < blocks.end ? at + steps * kStepBytes : at;
      for (std::int64_t p = 0; p < pairs; ++p) {
        float* const kept = sums + (depth == steps ? 0 : p * kBlockFloats);
        const std::int64_t asked = b + 1 < blocks.end ? std::min(lines, kStepBytes / 64 - p * lines) : 0;
        const RowTilePiece piece{rows.data + 2 * p * rows.tile, at,   next + p * lines * 64, rows.tile, rows.row, asked,
                                 rows.steps.data() + begin,     count};
        start(kept, begin == 0);
        rows.count - p* kBlock > kTile ? multiply_steps<Products, true>(piece) : multiply_steps<Products, false>(piece);
        finish(kept);
        if (begin + count == steps)
          store.block(kept, p * kBlock, std::min(kBlock, rows.count - p * kBlock), b * kBlock);
      }
    }
  }
}

}  // namespace
}  // namespace tern::tiles
