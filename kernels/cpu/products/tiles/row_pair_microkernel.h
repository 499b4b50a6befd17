// Rows by a packed weight on aarch64, by instructions that multiply two rows by two columns: eight bytes of each, four
// sums. The packed weight has blocks of 32 columns; for each eight bytes of a step the columns' eight bytes lie side by
// side. A panel of rows passes by a piece of the weight that stays in the first cache; sums wait in memory from one
// piece to the next.
#pragma once

#include <arm_neon.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/cpu/products/tiles/row_panels.h"
#include "kernels/cpu/products/tiles/rows.h"

namespace tern::tiles {
namespace {  // files of other instruction sets have their own

constexpr std::int64_t kPairStepBytes = 2 * kTileBytes;  // bytes of a step of a block of the weight
constexpr std::int64_t kMostPairSteps = 8;               // steps of a piece of the weight: 16 KB
constexpr std::int64_t kEightBytes = 8, kChunkBytes = kBlock * kEightBytes;
constexpr int kMostPairRows = 6;                           // 16 columns make 24 registers of sums
constexpr int kColumnPairs = static_cast<int>(kTile) / 2;  // pairs of columns that are multiplied together

/// A piece of 16 columns of the weight.
struct PairPiece {
  const std::byte* weight = nullptr;
  std::span<const std::int64_t> steps;
  std::span<const std::uint8_t> pairs;  ///< groups of four bytes of each step; empty: 16
  bool first = true;                    ///< the first piece of its block: sums begin
};

/// Eight bytes of two rows, from 16 bytes of each.
inline uint8x16_t first_eight(uint8x16_t a, uint8x16_t b) {
  return vreinterpretq_u8_u64(vtrn1q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
}
inline uint8x16_t second_eight(uint8x16_t a, uint8x16_t b) {
  return vreinterpretq_u8_u64(vtrn2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
}
/// The first `bytes` bytes, 4 or 8, and zeros.
inline uint8x16_t load_bytes(const std::byte* from, std::int64_t bytes) {
  std::uint64_t all = 0;
  if (bytes == kEightBytes) {
    std::memcpy(&all, from, sizeof all);
  } else {
    std::uint32_t four = 0;
    std::memcpy(&four, from, sizeof four);
    all = four;
  }
  return vreinterpretq_u8_u64(vdupq_n_u64(all));
}

/// Adds the piece's products with `Rows` rows, which lie `row` bytes apart, to their sums of 16 columns.
template <class Products, int Rows>
void add_pairs_of_rows(const PairPiece& piece, const std::byte* rows, std::int64_t row,
                       typename Products::Element* sums) {
  constexpr int kPairs = (Rows + 1) / 2;
  using Sums = typename Products::Sums;
  Sums sum[kPairs][kColumnPairs];
#pragma GCC unroll 3
  for (int r = 0; r < kPairs; ++r) {
    const auto* const low = sums + 2 * r * kBlock;
    const auto* const high = 2 * r + 1 < Rows ? low + kBlock : low;
#pragma GCC unroll 8
    for (int c = 0; c < kColumnPairs; ++c)
      sum[r][c] = piece.first ? Products::zero() : Products::load(low + 2 * c, high + 2 * c);
  }
  const auto multiply = [&](const uint8x16_t(&x)[kPairs], const std::byte* weight) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumnPairs; ++c) {
      const uint8x16_t columns = vld1q_u8(reinterpret_cast<const std::uint8_t*>(weight) + 16 * c);
#pragma GCC unroll 3
      for (int r = 0; r < kPairs; ++r) sum[r][c] = Products::add(sum[r][c], x[r], columns);
      asm volatile("" ::: "memory");  // keeps one register of columns: compilers load more than there are
    }
  };
  const std::byte* weight = piece.weight;
  for (std::size_t s = 0; s < piece.steps.size(); ++s, weight += kPairStepBytes) {
    const std::byte* x = rows + piece.steps[s];
    const std::byte* chunk = weight;
    std::int64_t bytes = 4 * (piece.pairs.empty() ? kTile : std::int64_t{piece.pairs[s]});
    for (; bytes >= 2 * kEightBytes; bytes -= 2 * kEightBytes, x += 2 * kEightBytes, chunk += 2 * kChunkBytes) {
      uint8x16_t left[kPairs], right[kPairs];
#pragma GCC unroll 3
      for (int r = 0; r < kPairs; ++r) {
        const auto* const at = reinterpret_cast<const std::uint8_t*>(x) + 2 * r * row;
        const uint8x16_t a = vld1q_u8(at), b = 2 * r + 1 < Rows ? vld1q_u8(at + row) : a;
        left[r] = first_eight(a, b);
        right[r] = second_eight(a, b);
      }
      multiply(left, chunk);
      multiply(right, chunk + kChunkBytes);
    }
    for (; bytes > 0; bytes -= kEightBytes, x += kEightBytes, chunk += kChunkBytes) {
      const std::int64_t some = std::min(bytes, kEightBytes);
      uint8x16_t last[kPairs];
#pragma GCC unroll 3
      for (int r = 0; r < kPairs; ++r) {
        const std::byte* const at = x + 2 * r * row;
        last[r] = first_eight(load_bytes(at, some), load_bytes(2 * r + 1 < Rows ? at + row : at, some));
      }
      multiply(last, chunk);
    }
  }
#pragma GCC unroll 3
  for (int r = 0; r < kPairs; ++r) {
    auto* const low = sums + 2 * r * kBlock;
#pragma GCC unroll 8
    for (int c = 0; c < kColumnPairs; ++c) {
      Products::store_low(low + 2 * c, sum[r][c]);
      if (2 * r + 1 < Rows) Products::store_high(low + kBlock + 2 * c, sum[r][c]);
    }
  }
}

template <class Products>
using AddPairs = void (*)(const PairPiece&, const std::byte*, std::int64_t, typename Products::Element*);

template <class Products, std::size_t... I>
constexpr std::array<AddPairs<Products>, sizeof...(I)> pair_loops_of(std::index_sequence<I...>) {
  return {add_pairs_of_rows<Products, static_cast<int>(I) + 1>...};
}
/// The loops by rows.
template <class Products>
constexpr std::array<AddPairs<Products>, kMostPairRows> kPairLoops =
    pair_loops_of<Products>(std::make_index_sequence<kMostPairRows>());

/// Store has `block`.
template <class Products, class Store>
void multiply_rows_in_pairs(const TileRows& rows, const std::byte* weight, IndexRange blocks, const RowResults& results,
                            Store& store) {
  const auto steps = static_cast<std::int64_t>(rows.steps.size()),
             pieces = (steps + kMostPairSteps - 1) / kMostPairSteps, deep = (steps + pieces - 1) / pieces;
  const std::vector<RowPanel> panels = row_panels(rows, results, kMostPairRows);
  alignas(64) typename Products::Element sums[RowPanel::kMostRows * kBlock];
  for (std::int64_t b = blocks.begin; b < blocks.end; ++b) {
    const std::int64_t halves = results.columns - b * kBlock > kTile ? 2 : 1;
    for (const RowPanel& panel : panels) {
      for (std::int64_t begin = 0; begin < steps; begin += deep) {
        const auto first = static_cast<std::size_t>(begin),
                   count = static_cast<std::size_t>(std::min(deep, steps - begin));
        PairPiece piece{.steps = rows.steps.subspan(first, count),
                        .pairs = rows.pairs.empty() ? rows.pairs : rows.pairs.subspan(first, count),
                        .first = begin == 0};
        for (std::int64_t half = 0; half < halves; ++half) {
          piece.weight = weight + (b * steps + begin) * kPairStepBytes + half * kTile * kEightBytes;
          for (const RowGroup& g : panel.groups) {
            const std::byte* const at = rows.data + g.first / kTile * rows.tile + g.first % kTile * rows.row;
            kPairLoops<Products>[static_cast<std::size_t>(g.count) - 1](
                piece, at, rows.row, sums + (g.first - panel.begin) * kBlock + half * kTile);
          }
        }
      }
      for (std::int64_t row = panel.begin; row < panel.end; row += kBlock)
        store.block(sums + (row - panel.begin) * kBlock, row, std::min(kBlock, panel.end - row), b * kBlock);
    }
  }
}

}  // namespace
}  // namespace tern::tiles
