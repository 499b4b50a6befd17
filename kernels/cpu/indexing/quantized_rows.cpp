// index_select of a quantized value: dequantizes the selected rows only.
#include "dtypes/convert.h"
#include "kernels/cpu/indexing/indexing.h"
#include "kernels/cpu/indexing/positions.h"
#include "kernels/cpu/products/block_quantized/driver.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/strided.h"
#include "kernels/quantized_view.h"
#include "threads/parallel.h"

namespace tern {
namespace {

/// Matches dequantize_row bit by bit. The loops of products may fuse the sum with an added zero point.
void numbers(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, float* to) {
  if (m.blocks.zero_point == ZeroPoint::added) return dequantize_row(m, at, row, 0, m.columns, to);
  block_quantized::numbers_of_row(m, at, row, 0, m.columns, to);
}

}  // namespace

void cpu_select_quantized_rows(KernelCall& c) {
  const TensorView &x = c.in[0], &index = c.in[1], &out = c.out[0];
  const QuantizedMatrix m = quantized_matrix(x);
  const Positions positions(index);
  const int axis = axis_of(*c.node, x.rank);
  const std::int64_t along = x.size(axis), count = index.numel(), size = element_size(out.dtype);
  std::int64_t inner = 1;  // rows of the matrix per slice
  for (int i = axis + 1; i + 1 < x.rank; ++i) inner *= x.size(i);
  parallel_for(out.numel() / m.columns, grain_for(m.columns), [&](std::int64_t begin, std::int64_t end) {
    const bool direct = out.dtype == DType::f32;
    float* const row = direct ? nullptr : thread_buffer<float>(static_cast<std::size_t>(m.columns));
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t slice = t / inner, from = slice / count * along + positions.checked_at(slice % count, along);
      std::byte* const to = out.data + t * m.columns * size;
      float* const y = direct ? reinterpret_cast<float*>(to) : row;
      numbers(m, x.data, from * inner + t % inner, y);
      if (!direct) convert(y, DType::f32, to, out.dtype, m.columns);
    }
  });
}

}  // namespace tern
