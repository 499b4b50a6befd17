#include "kernels/cpu/products/tiles/rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tern::tiles {
namespace {

const RowPack& row_pack() {
  static const auto pack = best_loops<RowPack>(set_row_pack_levels);
  return pack;
}

}  // namespace

bool rows_possible() {
  return cpu_level(CpuKind::bfloat16).has_value();
}

RowLayout best_layout(std::int64_t k) {
  constexpr std::int64_t kLine = 64;
  const std::int64_t steps = steps_of(k), row = steps * kStep * 2 + kLine;
  return available() ? RowLayout{steps * kTileBytes, kStep * 2, kTileBytes} : RowLayout{kTile * row, row, kStep * 2};
}

bool reads_in_place() {
  return !available();
}

void add_pairs(std::int64_t k, std::vector<std::uint8_t>& pairs) {
  for (std::int64_t i = 0; i < k; i += kStep)
    pairs.push_back(static_cast<std::uint8_t>((std::min(kStep, k - i) + 1) / 2));
}

RowSteps::RowSteps(std::int64_t k, const RowLayout& layout) : layout_(layout) {
  for (std::int64_t s = 0; s < steps_of(k); ++s) offsets_.push_back(s * layout.step);
  add_pairs(k, pairs_);
}

double step_cycles() {
  return available() ? 2 * 16 : 16 * 16;
}

bool multiply_rows(const TileRows& rows, const std::byte* weight, IndexRange blocks, const RowResults& results) {
  static const auto best = best_level(multiply_rows_levels);
  bool finite = true;
  best(rows, weight, blocks, results, &finite);
  return finite;
}

void pack_rows(Elements x, std::int64_t row, IndexRange rows, std::int64_t k, const RowLayout& layout, std::byte* to) {
  row_pack().rows(x, row, rows, k, layout, to);
}

void round_line(Elements x, std::int64_t count, std::byte* to) {
  row_pack().line(x, count, to);
}

void pack_weight(Elements w, std::int64_t row, std::int64_t n, std::int64_t k, std::byte* to) {
  row_pack().weight(w, row, n, k, to);
}

bool pack_columns(Elements w, std::int64_t row, std::int64_t k, std::int64_t n, std::byte* to) {
  return row_pack().columns(w, row, k, n, to);
}

float packed_element(const std::byte* packed, std::int64_t steps, std::int64_t n, std::int64_t k) {
  std::uint16_t bits = 0;
#if defined(__aarch64__)
  const std::int64_t step = n / kBlock * steps + k / kStep;
  std::memcpy(&bits, packed + step * 2 * kTileBytes + (k % kStep / 4 * kBlock + n % kBlock) * 8 + k % 4 * 2,
              sizeof bits);
#else
  const std::int64_t tile = (n / kBlock * steps + k / kStep) * 2 + n % kBlock / kTile;
  std::memcpy(&bits, packed + tile * kTileBytes + k % kStep / 2 * 64 + n % kTile * 4 + k % 2 * 2, sizeof bits);
#endif
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace tern::tiles
