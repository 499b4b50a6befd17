#include "kernels/cpu/products/problem.h"

#include <utility>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/gemm.h"

namespace tern::cpu {
namespace {

/// A view that gemm can read, or the dense one that `v` has to be copied to.
bool needs_copy(const TensorView& v, DType type) {
  const int r = v.rank;
  return v.dtype != type || !gemm_layout(v.size(r - 2), v.size(r - 1), v.stride(r - 2), v.stride(r - 1));
}

/// The function that problem.h declares; `a` and `b` have the result's rank.
bool copy_joins_rows(const TensorView& a, const TensorView& b, const TensorView& out) {
  constexpr std::int64_t kFew = 64, kColumnsOfACopy = 32;
  const int rank = out.rank;
  const std::int64_t m = out.size(rank - 2);
  if (m > kFew || out.size(rank - 1) < kColumnsOfACopy) return false;
  for (int i = rank - 3; i >= 0; --i) {
    if (out.size(i) == 1) continue;
    const bool shared = b.size(i) == 1 || b.stride(i) == 0, own = a.size(i) > 1 && a.stride(i) != 0;
    return shared && own && m > 1 && a.stride(i) != m * a.stride(rank - 2);
  }
  return false;
}

TensorView dense_like(const TensorView& v, DType type) {
  TensorView d = planes_without_repeats(v);
  d.dtype = type;
  make_contiguous(d);
  return d;
}

}  // namespace

TensorView right_operand(const KernelCall& c) {
  TensorView b = c.in[1];
  if (b.blocks.columns == 0) return b;
  const auto row = static_cast<std::size_t>(b.rank - 2), column = row + 1;
  std::swap(b.sizes[row], b.sizes[column]);
  b.strides[row] = 1;
  b.strides[column] = b.sizes[row];
  return b;
}

void convert_right(const KernelCall& c, DType type, void* to) {
  if (c.in[1].blocks.columns != 0) return to_dense(c.in[1], type, to);
  to_dense(planes_without_repeats(unsqueeze_to_rank(c.in[1], c.out[0].rank)), type, to);
}

bool copy_joins_rows(const KernelCall& c) {
  const TensorView& out = c.out[0];
  return copy_joins_rows(unsqueeze_to_rank(c.in[0], out.rank), unsqueeze_to_rank(right_operand(c), out.rank), out);
}

Problem describe(const KernelCall& c, bool converts) {
  Problem p;
  p.type = gemm_type(c.in[0].dtype);
  const TensorView& out = c.out[0];
  const int rank = out.rank;
  const TensorView a = unsqueeze_to_rank(c.in[0], rank), b = unsqueeze_to_rank(right_operand(c), rank);
  const DType of_a = converts ? p.type : a.dtype, of_b = converts ? p.type : b.dtype;
  p.convert_a = needs_copy(a, of_a) || (converts && copy_joins_rows(a, b, out));
  const bool quantized = b.blocks.columns != 0;
  p.convert_b = quantized || needs_copy(b, of_b);
  p.convert_c = out.dtype != p.type;
  p.a = p.convert_a ? dense_like(a, of_a) : a;
  p.b = p.convert_b && !quantized ? dense_like(b, of_b) : b;
  if (quantized) {
    p.b.dtype = p.type;
    p.b.blocks = {};
  }
  p.m = a.size(rank - 2);
  p.k = a.size(rank - 1);
  p.n = b.size(rank - 1);
  bool merging = true;
  for (int i = rank - 3; i >= 0; --i) {
    const std::int64_t size = out.size(i);
    if (size == 1) continue;
    const std::int64_t sa = p.a.size(i) == 1 ? 0 : p.a.stride(i), sb = p.b.size(i) == 1 ? 0 : p.b.stride(i);
    // Rows of a plane that follow those of the plane before, multiplied by the same matrix, are just more rows.
    if (merging && sb == 0 && (p.a.stride(rank - 1) == 1 || p.k == 1) &&
        (p.m == 1 || sa == p.m * p.a.stride(rank - 2))) {
      if (p.m == 1) p.a.strides[static_cast<std::size_t>(rank - 2)] = sa;
      if (gemm_layout(p.m * size, p.k, p.a.stride(rank - 2), p.a.stride(rank - 1))) {
        p.m *= size;
        continue;
      }
    }
    merging = false;
    const auto at = static_cast<std::size_t>(p.batch.count++);
    p.batch.size[at] = size;
    p.batch.a[at] = sa;
    p.batch.b[at] = sb;
    p.batch.planes *= size;
  }
  return p;
}

}  // namespace tern::cpu
