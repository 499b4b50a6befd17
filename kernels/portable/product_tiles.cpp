#include "kernels/portable/product_tiles.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace tern::portable {
namespace {

constexpr ProductTile kProductTilesUnits[] = {
    {128, 128, 32, 256, 0, 0, false}, {64, 128, 32, 256, 0, 0, false}, {64, 64, 64, 128, 0, 0, false},
    {32, 64, 64, 128, 0, 0, true},    {32, 32, 64, 128, 0, 0, true},   {16, 64, 64, 128, 0, 0, true},
    {16, 32, 64, 128, 0, 0, true},
};
/// The left operand is sparse: most rows are its own, and the depth of a stage takes half the memory.
constexpr ProductTile kSparse[] = {
    {128, 128, 32, 256, 0, 0, false}, {128, 64, 64, 256, 0, 0, false}, {64, 128, 64, 256, 0, 0, false},
    {64, 64, 64, 128, 0, 0, false},   {64, 32, 128, 128, 0, 0, true},  {32, 32, 128, 128, 0, 0, true},
    {64, 16, 128, 128, 0, 0, true},   {32, 16, 128, 128, 0, 0, true},  {16, 16, 128, 128, 0, 0, true},
};
/// A single chain for each sum.
constexpr ProductTile kBlocks[] = {
    {128, 128, 16, 256, 8, 8, false}, {64, 64, 16, 128, 8, 4, false}, {32, 64, 16, 128, 4, 4, false},
    {32, 32, 32, 128, 2, 4, false},   {8, 64, 32, 128, 1, 4, false},
};
constexpr ProductTile kSlicedBlocks[] = {
    {128, 128, 16, 256, 8, 8, false}, {64, 128, 16, 128, 8, 8, false}, {64, 64, 16, 128, 8, 8, true},
    {32, 64, 32, 128, 8, 8, true},    {32, 32, 32, 128, 8, 8, true},   {16, 32, 64, 128, 8, 8, true},
    {16, 16, 64, 128, 8, 8, true},    {8, 64, 32, 128, 8, 4, true},
};

// Concurrent groups on an H100. The choice is the same on all devices, because archived kernels must serve all devices.
constexpr std::int64_t kAtOnce = 132, kWarp = 32;

std::int64_t waves(const ProductTile& t, const ProductSize& size) {
  return (t.row_blocks(size.rows) * t.panels(size.columns) * size.planes + kAtOnce - 1) / kAtOnce;
}

constexpr std::int64_t kReading = 64;

/// Approximate time of a depth step with matrix units: the time of reading, which hides the products.
double unit_cost(const ProductTile& t, const ProductSize& size) {
  return static_cast<double>(waves(t, size) * (t.rows * t.columns + kReading * (t.rows + t.columns)));
}

/// The same for a sparse left operand: half the products, and nine sixteenths of its bytes.
double sparse_cost(const ProductTile& t, const ProductSize& size) {
  return static_cast<double>(waves(t, size)) *
         (static_cast<double>(t.rows * t.columns) / 2 +
          static_cast<double>(kReading) * (static_cast<double>(t.rows) * 9 / 16 + static_cast<double>(t.columns)));
}

/// Approximate cycles with blocks of registers: requests to local memory, and the requests for joining sums if items
/// divide the depth.
double block_cost(const ProductTile& t, const ProductSize& size) {
  const auto operands = static_cast<double>(t.block_rows + t.block_columns);
  const auto sums = static_cast<double>(t.block_rows * t.block_columns),
             results = static_cast<double>(t.rows * t.columns);
  const double products = results * operands / sums / kWarp,
               staging = static_cast<double>(2 * (t.rows + t.columns)) / kWarp;
  const double joining = t.sliced ? 2 * static_cast<double>(t.items) * sums / kWarp : 0;
  return static_cast<double>(waves(t, size)) * (static_cast<double>(size.depth) * (products + staging) + joining);
}

constexpr std::int64_t kProductTilesLocalBytes = 46 << 10;  // CUDA allows 48 KiB without a request
constexpr std::int64_t kMostStages = 4;

std::int64_t stages_of(const ProductTile& t, bool a_turned, bool b_turned, bool sparse) {
  const auto bytes = [&](std::int64_t lines, bool turned) {
    return 2 * (turned ? t.depth * (lines + 8) : lines * (t.depth + 8));
  };
  const std::int64_t left = sparse ? t.rows * (t.depth + 16 + t.depth / 8) : bytes(t.rows, a_turned);
  return std::clamp(kProductTilesLocalBytes / (left + bytes(t.columns, !b_turned)), std::int64_t{2}, kMostStages);
}

}  // namespace

void ProductTile::declare(KernelSource& s, bool units, bool a_turned, bool b_turned, bool sparse) const {
  s.define("TILE_M", rows);
  s.define("TILE_N", columns);
  s.define("TILE_K", depth);
  s.define("ITEMS", items);
  s.define("A_TURNED", a_turned ? 1 : 0);
  s.define("B_TURNED", b_turned ? 1 : 0);
  s.define("SLICED", sliced ? 1 : 0);
  if (units) {
    s.define("SPARSE", sparse ? 1 : 0);
    return s.define("STAGES", stages_of(*this, a_turned, b_turned, sparse));
  }
  s.define("BLOCK_M", block_rows);
  s.define("BLOCK_N", block_columns);
}

bool has_units(const Target& target, DType a, DType b) {
  return target.groups && (target.dialect == Dialect::cuda || target.dialect == Dialect::hip) && a == b &&
         (a == DType::f16 || a == DType::bf16);
}

constexpr std::int64_t kLeastUnsliced = 1024;  // results, divided among the waves
constexpr std::int64_t kWorthJoining = 256;    // smallest depth where slices are faster than the time of joining them

ProductTile unit_tile(const ProductSize& size, std::int64_t run) {
  ProductTile tile =
      *std::ranges::min_element(kProductTilesUnits, {}, [&](const ProductTile& t) { return unit_cost(t, size); });
  if (run <= tile.depth / 2) tile.depth /= 2;
  if (tile.rows * tile.columns >= kLeastUnsliced) tile.sliced = tile.sliced && size.depth >= kWorthJoining;
  return tile;
}

ProductTile sparse_tile(const ProductSize& size) {
  return *std::ranges::min_element(kSparse, {}, [&](const ProductTile& t) { return sparse_cost(t, size); });
}

ProductTile block_tile(const ProductSize& size, bool faster) {
  std::vector<ProductTile> tiles(std::begin(kBlocks), std::end(kBlocks));
  if (faster) tiles.insert(tiles.end(), std::begin(kSlicedBlocks), std::end(kSlicedBlocks));
  return *std::ranges::min_element(tiles, {}, [&](const ProductTile& t) { return block_cost(t, size); });
}

}  // namespace tern::portable
