#include <algorithm>

#include "kernels/cpu/products/block_quantized/sparse_microkernel.h"
#include "threads/parallel.h"

namespace tern::block_quantized {
namespace {

constexpr std::int64_t kSparseDriverWorthAThread = 1 << 16;  // multiplications
constexpr std::int64_t kWholeByte = 8;                       // columns whose places fill a byte

/// Columns [begin, begin + count) of a row.
SparseRow row_of(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t begin,
                 std::int64_t count) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(at);
  return {bytes + (m.first + row) * m.row_bytes() + begin / 2 * element_size(m.element),
          bytes + m.place_offset() + (m.first + row) * m.place_row_bytes() + begin / kWholeByte, count};
}

}  // namespace

const SparseLoops& sparse_loops() {
  static const auto all = best_loops<SparseLoops>(set_sparse_loops_levels);
  return all;
}

void sparse_numbers(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t begin,
                    std::int64_t count, float* to) {
  if (begin % kWholeByte != 0 || count % kWholeByte != 0) return dequantize_row(m, at, row, begin, count, to);
  sparse_loops().element_loops(m.element).numbers(row_of(m, at, row, begin, count), to);
}

void multiply_sparse(const BlockQuantizedProduct& p) {
  const QuantizedMatrix& m = p.matrix;
  const SparseElementLoops& loops = sparse_loops().element_loops(m.element);
  parallel_for(p.n, std::max<std::int64_t>(1, kSparseDriverWorthAThread / (m.columns * p.m)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t j = begin; j < end; ++j) {
                   const SparseRow row = row_of(m, p.weight, j, 0, m.columns);
                   for (std::int64_t i = 0; i < p.m; i += kMostSparseRows) {
                     const std::int64_t count = std::min<std::int64_t>(kMostSparseRows, p.m - i);
                     float sums[kMostSparseRows];
                     loops.dots[count - 1](row, p.x + i * m.columns, m.columns, sums);
                     for (std::int64_t q = 0; q < count; ++q)
                       p.y[(i + q) * p.n + j] = sums[q] + (p.bias == nullptr ? 0.0F : p.bias[j]);
                   }
                 }
                 if (p.finish.epilogue != nullptr) p.finish.apply(p.y + begin, p.n, p.m, end - begin, begin, p.n);
               });
}

}  // namespace tern::block_quantized
