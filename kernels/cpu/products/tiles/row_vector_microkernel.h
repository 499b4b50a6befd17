// Rows by a packed weight on vectors, of any type whose products one instruction adds up in groups of four bytes: a
// group of a row's elements is broadcast over groups of 16 columns each, which lie so in the packed weight. A panel of
// rows passes by a piece of the weight that stays in the first cache; sums wait in memory from one piece to the next.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/cpu/products/tiles/row_panels.h"
#include "kernels/cpu/products/tiles/rows.h"

namespace tern::tiles {
namespace {  // files of other instruction sets have their own

constexpr std::int64_t kLine = 64;                   // bytes of the cache
constexpr std::int64_t kStepBytes = 2 * kTileBytes;  // bytes of a step of a block of the weight
constexpr std::int64_t kMostDeep = 8;                // steps of a piece of the weight: 16 KB

/// A piece of the weight, and memory to ask for meanwhile.
struct WeightPiece {
  const std::byte* weight = nullptr;
  std::span<const std::int64_t> steps;
  std::span<const std::uint8_t> pairs;  ///< pairs of each step; empty: all
  bool first = true;                    ///< the first piece of its block: sums begin
  const std::byte* ahead = nullptr;
  std::int64_t ahead_lines = 0;  ///< lines asked for in each step

  /// Has `groups` of rows ask for the `count` steps that follow the piece in memory.
  void ask(std::int64_t count, std::int64_t groups) {
    const std::int64_t lines = count * kStepBytes / kLine, times = groups * std::ssize(steps);
    ahead = weight + std::ssize(steps) * kStepBytes;
    ahead_lines = (lines + times - 1) / times;
  }
};

WeightPiece piece_of(const TileRows& rows, const std::byte* block, std::int64_t begin, std::int64_t end) {
  const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
  return {.weight = block + begin * kStepBytes,
          .steps = rows.steps.subspan(first, count),
          .pairs = rows.pairs.empty() ? rows.pairs : rows.pairs.subspan(first, count),
          .first = begin == 0};
}

/// The begins of rows, in steps of three: an address is a begin, and once or twice the distance of two rows. The
/// compiler would keep each row's in a register of its own, and has too few.
template <int Rows>
struct RowStarts {
  const std::byte* third[(Rows + 2) / 3];

  RowStarts(const std::byte* rows, std::int64_t row) {
    for (auto& begin : third) {
      begin = rows;
      asm("" : "+r"(begin));
      rows += 3 * row;
    }
  }
};

/// Four bytes of a row.
inline std::int32_t group_at(const std::byte* at) {
  std::int32_t group = 0;
  std::memcpy(&group, at, sizeof group);
  return group;
}

/// Adds the piece's products with `Rows` rows, which lie `row` bytes apart, to their sums: of `Vectors` vectors of
/// columns. Products is a vector of sums and its instructions.
template <class Products, int Rows, int Vectors>
void add(const WeightPiece& piece, const std::byte* rows, std::int64_t row, typename Products::Element* sums) {
  constexpr int kLanes = Products::kLanes;
  constexpr std::int64_t kInTile = kTile / kLanes;  // vectors of columns of a tile
  typename Products::Sums sum[Rows][Vectors];
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v)
      sum[r][v] = piece.first ? Products::zero() : Products::load(sums + r * kBlock + v * kLanes);
  }
  const std::byte *weight = piece.weight, *ahead = piece.ahead;
  const RowStarts<Rows> begins(rows, row);
  for (std::size_t s = 0; s < piece.steps.size(); ++s, weight += kStepBytes) {
    const std::int64_t step = piece.steps[s], count = piece.pairs.empty() ? kTile : piece.pairs[s];
    for (std::int64_t i = 0; i < piece.ahead_lines; ++i, ahead += kLine) __builtin_prefetch(ahead);
    const std::byte* at[(Rows + 2) / 3];
    for (int i = 0; i < (Rows + 2) / 3; ++i) at[i] = begins.third[i] + step;
#pragma GCC unroll 2
    for (std::int64_t p = 0; p < count; ++p) {
      typename Products::Columns columns[Vectors];
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v)
        columns[v] = Products::columns(weight + p * kLine + v / kInTile * kTileBytes + v % kInTile * kLanes * 4);
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) {
        const std::int32_t group = group_at(at[r / 3] + r % 3 * row + p * 4);
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) sum[r][v] = Products::add(sum[r][v], columns[v], group);
      }
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) Products::store(sums + r * kBlock + v * kLanes, sum[r][v]);
  }
}

template <class Products>
using Add = void (*)(const WeightPiece&, const std::byte*, std::int64_t, typename Products::Element*);

template <class Products, int Vectors, std::size_t... I>
constexpr std::array<Add<Products>, sizeof...(I)> adds_of(std::index_sequence<I...>) {
  return {add<Products, static_cast<int>(I) + 1, Vectors>...};
}
/// The loops by columns (up to 16, or 32) and rows.
template <class Products>
constexpr std::array<std::array<Add<Products>, Products::kMostTogether>, 2> kAdds = {
    adds_of<Products, kTile / Products::kLanes>(std::make_index_sequence<Products::kMostTogether>()),
    adds_of<Products, kBlock / Products::kLanes>(std::make_index_sequence<Products::kMostTogether>())};

/// Store has `block` and `ask`, as RowStore.
template <class Products, class Store>
void multiply_rows_in_vectors(const TileRows& rows, const std::byte* weight, IndexRange blocks,
                              const RowResults& results, Store& store) {
  using Element = typename Products::Element;
  const auto steps = static_cast<std::int64_t>(rows.steps.size()), pieces = (steps + kMostDeep - 1) / kMostDeep,
             deep = (steps + pieces - 1) / pieces;
  const std::vector<RowPanel> panels = row_panels(rows, results, Products::kMostTogether);
  alignas(64) Element sums[RowPanel::kMostRows * kBlock];
  for (std::int64_t b = blocks.begin; b < blocks.end; ++b) {
    const auto& add_rows = kAdds<Products>[results.columns - b * kBlock > kTile ? 1 : 0];
    for (const RowPanel& panel : panels) {
      const bool first_panel = &panel == &panels.front(), last_panel = &panel == &panels.back();
      for (std::int64_t begin = 0; begin < steps; begin += deep) {
        const std::int64_t end = std::min(steps, begin + deep);
        WeightPiece piece = piece_of(rows, weight + b * steps * kStepBytes, begin, end);
        // The next piece in memory is read next: by this panel, or in the next block by the first one.
        if (end == steps ? last_panel && b + 1 < blocks.end : first_panel)
          piece.ask(std::min(deep, end == steps ? steps : steps - end), std::ssize(panel.groups));
        for (const RowGroup& g : panel.groups) {
          const std::byte* const first = rows.data + g.first / kTile * rows.tile + g.first % kTile * rows.row;
          if (end == steps) store.ask(g.first, g.count, b * kBlock);
          add_rows[static_cast<std::size_t>(g.count) - 1](piece, first, rows.row,
                                                          sums + (g.first - panel.begin) * kBlock);
          piece.ahead += piece.ahead_lines * (end - begin) * kLine;
        }
      }
      for (std::int64_t row = panel.begin; row < panel.end; row += kBlock)
        store.block(sums + (row - panel.begin) * kBlock, row, std::min(kBlock, panel.end - row), b * kBlock);
    }
  }
}

}  // namespace
}  // namespace tern::tiles
