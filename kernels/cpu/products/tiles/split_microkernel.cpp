#include "kernels/cpu/products/tiles/split_microkernel.h"

#include "kernels/cpu/products/tiles/split_pack.h"

namespace tern::tiles {
namespace {

const SplitPack& split_pack() {
  static const auto pack = best_loops<SplitPack>(set_split_pack_levels);
  return pack;
}

}  // namespace

void multiply(const LeftOperand& left, const Right& right, IndexRange blocks, IndexRange tiles, TileSink& sink,
              std::int64_t next) {
  static const auto best = best_level(multiply_split_levels);
  best(left, right, blocks, tiles, sink, next);
}

void split_columns(const float* x, std::int64_t row, std::int64_t rows, std::int64_t k, int parts, std::byte* to) {
  split_pack().columns(x, row, rows, k, parts, to);
}

bool split_rows(const float* b, std::int64_t row, std::int64_t k, std::int64_t n, int parts, std::byte* to) {
  return split_pack().rows(b, row, k, n, parts, to);
}

void split_line(const LinePair& lines, std::int64_t first, std::int64_t step, std::int64_t count,
                std::span<std::byte* const> to) {
  split_pack().line(lines, first, step, count, to);
}

void TransposingSink::store(const float* tiles, std::int64_t row, std::int64_t tile, int columns) {
  split_pack().store_transposed(t_, tiles, row, tile, columns);
}

void PlainSink::store(const float* tiles, std::int64_t row, std::int64_t tile, int columns) {
  split_pack().store_plain(context_, tiles, row, tile, columns);
}

}  // namespace tern::tiles
