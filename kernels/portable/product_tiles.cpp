#include "kernels/portable/product_tiles.h"

#include <algorithm>
#include <span>

namespace tern::portable {
namespace {

constexpr ProductTile kUnits[] = {
    {128, 128, 32, 256, 0, 0, false}, {64, 128, 32, 256, 0, 0, false}, {64, 64, 64, 128, 0, 0, false},
    {32, 64, 64, 128, 0, 0, true},    {32, 32, 64, 128, 0, 0, true},   {16, 64, 64, 128, 0, 0, true},
};
/// One chain for each sum.
constexpr ProductTile kBlocks[] = {
    {128, 128, 16, 256, 8, 8, false}, {64, 64, 16, 128, 8, 4, false}, {32, 64, 16, 128, 4, 4, false},
    {32, 32, 32, 128, 2, 4, false},   {8, 64, 32, 128, 1, 4, false},
};
constexpr ProductTile kSlicedBlocks[] = {
    {128, 128, 16, 256, 8, 8, false}, {64, 128, 16, 128, 8, 8, false}, {64, 64, 16, 128, 8, 8, true},
    {32, 64, 32, 128, 8, 8, true},    {32, 32, 32, 128, 8, 8, true},   {8, 64, 32, 128, 8, 4, true},
};

// A group's time is about that of its products and of what it reads; so many groups run at once on an H100. The choice
// does not depend on the device, so that kernels of archives serve all.
constexpr std::int64_t kAtOnce = 132, kReading = 64;
constexpr std::int64_t kSlicedDepth = 64;
constexpr std::int64_t kWorthJoining = 256;  // depth, from which on slices of it take less time than joining them

ProductTile best(std::span<const ProductTile> tiles, const ProductSize& size) {
  const auto cost = [&](const ProductTile& t) {
    const std::int64_t groups = t.row_blocks(size.rows) * t.panels(size.columns) * size.planes;
    return (groups + kAtOnce - 1) / kAtOnce * (t.rows * t.columns + kReading * (t.rows + t.columns));
  };
  return *std::ranges::min_element(tiles, {}, cost);
}

constexpr std::int64_t kLocalBytes = 46 << 10;  // 48 KiB need no request on CUDA
constexpr std::int64_t kMostStages = 4;

std::int64_t stages_of(const ProductTile& t, bool a_turned, bool b_turned) {
  const auto bytes = [&](std::int64_t lines, bool turned) {
    return 2 * (turned ? t.depth * (lines + 8) : lines * (t.depth + 8));
  };
  return std::clamp(kLocalBytes / (bytes(t.rows, a_turned) + bytes(t.columns, !b_turned)), std::int64_t{2},
                    kMostStages);
}

}  // namespace

void ProductTile::declare(Source& s, bool units, bool a_turned, bool b_turned) const {
  s.define("TILE_M", rows);
  s.define("TILE_N", columns);
  s.define("TILE_K", depth);
  s.define("ITEMS", items);
  s.define("A_TURNED", a_turned ? 1 : 0);
  s.define("B_TURNED", b_turned ? 1 : 0);
  s.define("SLICED", sliced ? 1 : 0);
  if (units) return s.define("STAGES", stages_of(*this, a_turned, b_turned));
  s.define("BLOCK_M", block_rows);
  s.define("BLOCK_N", block_columns);
}

bool has_units(const Target& target, DType a, DType b) {
  return target.groups && (target.dialect == Dialect::cuda || target.dialect == Dialect::hip) && a == b &&
         (a == DType::f16 || a == DType::bf16);
}

ProductTile unit_tile(const ProductSize& size, std::int64_t run) {
  ProductTile tile = best(kUnits, size);
  if (run <= tile.depth / 2) tile.depth /= 2;
  tile.sliced = tile.depth == kSlicedDepth && tile.sliced && size.depth >= kWorthJoining;
  return tile;
}
ProductTile block_tile(const ProductSize& size, bool faster) {
  return faster && size.depth >= kWorthJoining ? best(kSlicedBlocks, size) : best(kBlocks, size);
}

}  // namespace tern::portable
