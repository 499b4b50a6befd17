#include "kernels/cpu/dense.h"

#include <cstring>
#include <vector>

#include "dtypes/convert.h"
#include "kernels/quantized_view.h"
#include "threads/parallel.h"

namespace tern {
namespace {

constexpr std::int64_t kGrain = 1 << 15;

void convert_parallel(const std::byte* from, DType from_type, std::byte* to, DType to_type, std::int64_t count) {
  const std::int64_t from_size = element_size(from_type), to_size = element_size(to_type);
  parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    convert(from + begin * from_size, from_type, to + begin * to_size, to_type, end - begin);
  });
}

/// Copies rows of `columns` elements of the last two axes, from element `source` on, to a contiguous tile.
void collect_tile(const TensorView& from, const std::byte* source, std::int64_t rows, std::int64_t columns,
                  std::byte* tile) {
  TensorView strided = from, collected = from;
  const auto last = static_cast<std::size_t>(from.rank - 1);
  strided.rank = collected.rank = 2;
  strided.sizes[0] = collected.sizes[0] = rows;
  strided.sizes[1] = collected.sizes[1] = columns;
  strided.strides[0] = last == 0 ? 0 : from.strides[last - 1];
  strided.strides[1] = from.strides[last];
  strided.data = const_cast<std::byte*>(source);
  collected.data = tile;
  make_contiguous(collected);
  copy_strided(strided, collected);
}

/// Tiles of the last two axes: the elements are collected in their own type first.
void convert_rows(const TensorView& from, DType dtype, std::byte* to) {
  constexpr std::int64_t kRows = 32, kTileBytes = 1 << 14;
  const std::int64_t size = element_size(from.dtype), to_size = element_size(dtype);
  const int last = from.rank - 1;
  const std::int64_t columns = from.size(last), stride = from.stride(last),
                     rows = from.rank > 1 ? from.size(last - 1) : 1,
                     row_stride = from.rank > 1 ? from.stride(last - 1) : 0;
  const std::int64_t tile_columns = stride == 1 ? columns : kTileBytes / (kRows * size);
  const std::int64_t blocks = (rows + kRows - 1) / kRows, planes = from.numel() / (rows * columns);
  parallel_for(planes * blocks, std::max<std::int64_t>(1, kGrain / (columns * std::min(kRows, rows))),
               [&](std::int64_t begin, std::int64_t end) {
                 alignas(16) std::byte tile[kTileBytes];
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t plane = i / blocks, first = i % blocks * kRows,
                                      count = std::min(kRows, rows - first);
                   const std::byte* block = from.data + first * row_stride * size;
                   std::int64_t rest = plane;
                   for (int d = last - 2; d >= 0; --d) {
                     block += rest % from.size(d) * from.stride(d) * size;
                     rest /= from.size(d);
                   }
                   std::byte* out = to + (plane * rows + first) * columns * to_size;
                   for (std::int64_t c = 0; c < columns; c += tile_columns) {
                     const std::int64_t n = std::min(tile_columns, columns - c);
                     const std::byte* source = block + c * stride * size;
                     std::int64_t source_row = row_stride * size;
                     if (stride != 1) {
                       collect_tile(from, source, count, n, tile);
                       source = tile;
                       source_row = n * size;
                     }
                     for (std::int64_t r = 0; r < count; ++r)
                       convert(source + r * source_row, from.dtype, out + (r * columns + c) * to_size, dtype, n);
                   }
                 }
               });
}

/// The numbers of a quantized value, row by row.
void dequantize(const TensorView& from, DType dtype, std::byte* to) {
  const QuantizedMatrix m = quantized_matrix(from);
  const std::int64_t size = element_size(dtype);
  parallel_for(m.rows, std::max<std::int64_t>(1, kGrain / m.columns), [&](std::int64_t begin, std::int64_t end) {
    const bool is_direct = dtype == DType::f32;
    std::vector<float> row(is_direct ? 0 : static_cast<std::size_t>(m.columns));
    for (std::int64_t r = begin; r < end; ++r) {
      std::byte* const numbers = to + r * m.columns * size;
      dequantize_row(m, from.data, r, 0, m.columns, is_direct ? reinterpret_cast<float*>(numbers) : row.data());
      if (!is_direct) convert(row.data(), DType::f32, numbers, dtype, m.columns);
    }
  });
}

}  // namespace

void to_dense(const TensorView& from, DType dtype, void* to) {
  if (from.numel() == 0) return;
  if (from.blocks.columns != 0) {
    dequantize(from, dtype, static_cast<std::byte*>(to));
  } else if (from.dtype == dtype) {
    TensorView out = from;
    out.data = static_cast<std::byte*>(to);
    make_contiguous(out);
    copy_strided(from, out);
  } else if (from.rank == 0 || from.contiguous()) {
    convert_parallel(from.data, from.dtype, static_cast<std::byte*>(to), dtype, from.numel());
  } else {
    convert_rows(from, dtype, static_cast<std::byte*>(to));
  }
}

void from_dense(const void* from, DType dtype, const TensorView& to) {
  convert_parallel(static_cast<const std::byte*>(from), dtype, to.data, to.dtype, to.numel());
}

TensorView planes_without_repeats(const TensorView& v) {
  TensorView result = v;
  for (std::size_t i = 0; i + 2 < static_cast<std::size_t>(v.rank); ++i) {
    if (v.strides[i] == 0 && v.sizes[i] > 1) result.sizes[i] = 1;
  }
  return result;
}

TensorView unsqueeze_to_rank(const TensorView& v, int rank) {
  TensorView result = v;
  result.rank = rank;
  const int skip = rank - v.rank;
  for (int i = rank - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    result.sizes[at] = i < skip ? 1 : v.size(i - skip);
    result.strides[at] = i < skip ? 0 : v.stride(i - skip);
  }
  return result;
}

}  // namespace tern
