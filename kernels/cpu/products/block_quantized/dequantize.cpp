// Rows of a quantized matrix as numbers, and their scales.
#include <algorithm>

#include "dtypes/convert.h"
#include "kernels/cpu/products/block_quantized/driver.h"
#include "kernels/cpu/products/block_quantized/microkernel.h"
#include "kernels/cpu/products/block_quantized/sparse_microkernel.h"
#include "kernels/cpu/scratch.h"

namespace tern::block_quantized {
namespace {

constexpr std::size_t kScalesSlot = 4, kZerosSlot = 5, kUnitsSlot = 8;

/// Reads values in the order of scales, `type` elements from `first` on.
void read_grid_rows(const QuantizedMatrix& m, const std::byte* first, DType type, std::int64_t row, std::int64_t rows,
                    float* to) {
  row += m.first;
  const ScaleGrid grid = m.scales();
  const std::int64_t size = element_size(type);
  if (grid.layout == ScaleLayout::plain && m.blocks.rows == 1)
    return convert(first + row * grid.columns * size, type, to, DType::f32, rows * grid.columns);
  for (std::int64_t r = row; r < row + rows; ++r) {
    const std::int64_t of = r / m.blocks.rows;
    if (grid.layout == ScaleLayout::plain) {
      convert(first + of * grid.columns * size, type, to, DType::f32, grid.columns);
    } else {
      for (std::int64_t c = 0; c < grid.columns; ++c)
        convert(first + grid.index(of, c) * size, type, to + c, DType::f32, 1);
    }
    to += grid.columns;
  }
}

/// Multiplies integers of rows by the units of their super-blocks, which begin at `units`.
void times_units(const QuantizedMatrix& m, const std::byte* units, std::int64_t row, std::int64_t rows, float* to) {
  const std::int64_t count = rows * m.row_units(), each = m.blocks.super_columns / m.blocks.columns;
  auto* const values = thread_buffer<float>(static_cast<std::size_t>(count), kUnitsSlot);
  convert(units + (m.first + row) * m.row_units() * 2, DType::f16, values, DType::f32, count);
  for (std::int64_t u = 0; u < count; ++u) {
    for (std::int64_t i = 0; i < each; ++i) to[u * each + i] *= values[u];
  }
}

/// Elements [begin, begin + count) of a row, without scale.
void elements_of_row(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t begin,
                     std::int64_t count, const ElementLoops& elements, float* to) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(at) + (m.first + row) * m.row_bytes();
  const int planes = m.blocks.planes();
  (planes == 0 ? elements : loops().low4).numbers(from + begin / m.together(), count, to);
  for (int p = 0; p < planes; ++p) {
    // The highest bit of two's complement counts below zero.
    const bool negative = m.element == DType::i8 && p + 1 == planes;
    loops().add_plane(from + m.columns / 2 + p * (m.columns / 8) + begin / 8, count,
                      static_cast<float>(negative ? -(16 << p) : 16 << p), to);
  }
}

}  // namespace

void scales_of_rows(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t rows, float* to) {
  read_grid_rows(m, at + m.scale_offset(), m.blocks.scale, row, rows, to);
  if (m.blocks.super()) return times_units(m, at + m.scale_unit_offset(), row, rows, to);
  if (!m.blocks.outer) return;
  const float outer = *reinterpret_cast<const float*>(at + m.outer_offset());
  for (std::int64_t i = 0; i < rows * m.scales().columns; ++i) to[i] *= outer;
}

void zeros_of_rows(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t rows, float* to) {
  read_grid_rows(m, at + m.zero_offset(), m.blocks.zero, row, rows, to);
  if (m.blocks.super()) times_units(m, at + m.zero_unit_offset(), row, rows, to);
}

void numbers_of_row(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t begin,
                    std::int64_t count, float* to) {
  if (m.blocks.sparse()) return sparse_numbers(m, at, row, begin, count, to);
  const ElementLoops* const elements = loops().element_loops(m);
  const bool within_byte = m.blocks.planes() > 0 && begin % 8 != 0;
  if (elements == nullptr || within_byte) return dequantize_row(m, at, row, begin, count, to);
  elements_of_row(m, at, row, begin, count, *elements, to);
  const auto blocks = static_cast<std::size_t>(m.scales().columns);
  auto* const scales = thread_buffer<float>(blocks, kScalesSlot);
  scales_of_rows(m, at, row, 1, scales);
  float* zeros = nullptr;
  if (m.blocks.zero_point != ZeroPoint::none) {
    zeros = thread_buffer<float>(blocks, kZerosSlot);
    zeros_of_rows(m, at, row, 1, zeros);
  }
  // Whole blocks, and parts of one at each end.
  const std::int64_t block = m.blocks.columns, end = begin + count;
  for (std::int64_t k = begin; k < end;) {
    const std::int64_t whole = k % block == 0 ? (end - k) / block : 0, blocks_here = std::max<std::int64_t>(whole, 1),
                       size = whole > 0 ? block : std::min(end, (k / block + 1) * block) - k;
    loops().apply(to + (k - begin), scales + k / block, zeros == nullptr ? nullptr : zeros + k / block, blocks_here,
                  size, m.blocks.zero_point);
    k += blocks_here * size;
  }
}

}  // namespace tern::block_quantized
