#include "kernels/cpu/products/tiles/rows.h"

#include <algorithm>

#include "dtypes/cpu_level.h"

namespace tern::amx {

bool rows_possible() {
#if TERN_X86_LEVELS
  static const bool found =
      available() || (cpu_level() == CpuLevel::avx512 && __builtin_cpu_supports("avx512bf16") != 0);
  return found;
#else
  return false;
#endif
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

bool multiply_rows(const TileRows& rows, const std::byte* weight, Range blocks, const RowResults& results) {
  return (available() ? multiply_rows_on_tiles : multiply_rows_on_vectors)(rows, weight, blocks, results);
}

}  // namespace tern::amx
