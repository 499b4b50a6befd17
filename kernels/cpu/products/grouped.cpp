// grouped_matmul: a product for each run of rows that belongs to one group.
#include <tern/error.h>

#include <string>

#include "kernels/cpu/contractions.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/block_quantized/tiled_driver.h"
#include "kernels/cpu/products/float32/in_place_driver.h"
#include "kernels/cpu/products/gemm.h"
#include "kernels/cpu/products/grouped_tiles.h"
#include "kernels/cpu/reproducible/product.h"
#include "kernels/cpu/scratch.h"
#include "kernels/quantized_view.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

/// True if `linear` reads the weight of a group in its own type.
bool in_place(const KernelCall& c, DType type) {
  const TensorView& w = c.in[1];
  return type == DType::f32 && is_narrow(w.dtype) && w.stride(1) == 1 && w.stride(2) >= 0 && w.size(1) > 0 &&
         w.size(2) > 0;
}

template <bool InOrder>
bool direct(const KernelCall& c, DType type) {
  const TensorView& w = c.in[1];
  if (w.blocks.columns != 0) return !InOrder;
  if (!InOrder && in_place(c, type)) return true;
  return w.dtype == type && gemm_layout(w.size(1), w.size(2), w.stride(1), w.stride(2));
}

/// The matrix of group `g` of a quantized weight.
QuantizedMatrix matrix_of(const TensorView& w, std::int64_t g) {
  QuantizedMatrix m = quantized_matrix(w);
  m.first = g * w.size(1);
  return m;
}

/// Its numbers, [n, k].
template <class T>
MatrixView<T> numbers_of(const TensorView& w, std::int64_t g, T* to) {
  const QuantizedMatrix m = matrix_of(w, g);
  if constexpr (std::is_same_v<T, float>) {
    parallel_for(w.size(1), grain_for(m.columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) dequantize_row(m, w.data, j, 0, m.columns, to + j * m.columns);
    });
  }
  return {to, 1, m.columns};
}

struct GroupedBuffers {
  std::byte *x, *weight, *y;  ///< the weight of one group
};
template <bool InOrder>
GroupedBuffers buffers(const KernelCall& c, ScratchArena& arena) {
  const DType type = gemm_type(c.in[0].dtype);
  const std::int64_t size = element_size(type);
  return {c.in[0].dtype != type ? arena.allocate<std::byte>(c.in[0].numel() * size) : nullptr,
          direct<InOrder>(c, type) ? nullptr : arena.allocate<std::byte>(c.in[1].size(1) * c.in[1].size(2) * size),
          c.out[0].dtype != type ? arena.allocate<std::byte>(c.out[0].numel() * size) : nullptr};
}

template <bool InOrder>
std::size_t scratch_grouped(const KernelCall& c) {
  ScratchArena arena;
  buffers<InOrder>(c, arena);
  return arena.used();
}

template <bool InOrder>
void run_grouped(KernelCall& c) {
  const TensorView &x = c.in[0], &w = c.in[1], &offsets = c.in[2], &y = c.out[0];
  if (y.numel() == 0) return;
  Scratch own(c, scratch_grouped<InOrder>(c));
  ScratchArena arena(own.data());
  const GroupedBuffers at = buffers<InOrder>(c, arena);
  const DType type = gemm_type(x.dtype);
  if (at.x != nullptr) to_dense(x, type, at.x);
  std::byte* sums = at.y != nullptr ? at.y : y.data;
  visit_gemm_type(type, [&](auto tag) {
    using T = decltype(tag);
    const bool quantized = w.blocks.columns != 0;  // by columns
    const std::int64_t k = w.size(quantized ? 2 : 1), n = w.size(quantized ? 1 : 2);
    const auto* rows = reinterpret_cast<const T*>(at.x != nullptr ? at.x : x.data);
    auto* out = reinterpret_cast<T*>(sums);
    std::int64_t begin = 0;
    for (std::int64_t g = 0; g < offsets.size(0); ++g) {
      const std::int64_t end = offsets.dtype == DType::i32 ? offsets.data_as<const std::int32_t>()[g]
                                                           : offsets.data_as<const std::int64_t>()[g];
      if (end < begin || end > x.size(0)) {
        fail(ErrorCode::runtime, "offset " + std::to_string(end) + " of group " + std::to_string(g) + " is outside " +
                                     std::to_string(begin) + ".." + std::to_string(x.size(0)) +
                                     "; pass the row after each group's last one, in ascending order");
      }
      if (end == begin) continue;
      if constexpr (!InOrder && std::is_same_v<T, float>) {
        if (quantized && k > 0) {
          multiply_quantized({.matrix = matrix_of(w, g),
                              .n = n,
                              .weight = w.data,
                              .x = rows + begin * k,
                              .m = end - begin,
                              .y = out + begin * n});
          begin = end;
          continue;
        }
      }
      TensorView group = w;
      group.rank = 2;
      for (std::size_t i = 0; i < 2; ++i) {
        group.sizes[i] = w.sizes[i + 1];
        group.strides[i] = w.strides[i + 1];
      }
      group.data = w.data + g * w.stride(0) * element_size(w.dtype);
      if constexpr (!InOrder && std::is_same_v<T, float>) {
        bool done = !quantized && multiply_on_tiles(c, group, rows + begin * k, end - begin, out + begin * n);
        if (!done && in_place(c, type)) {
          linear({end - begin, n, k, k, group.stride(1)},
                 {rows + begin * k, group.data, nullptr, out + begin * n, {}, w.dtype});
          done = true;
        }
        if (done) {
          begin = end;
          continue;
        }
      }
      MatrixView<T> weight{group.data_as<const T>(), group.stride(0), group.stride(1)};
      if (quantized) {
        weight = numbers_of<T>(w, g, reinterpret_cast<T*>(at.weight));
      } else if (at.weight != nullptr) {
        to_dense(group, type, at.weight);
        weight = {reinterpret_cast<const T*>(at.weight), n, 1};
      }
      if constexpr (InOrder) {
        reproducible::product<T>(end - begin, n, k, {rows + begin * k, k, 1}, weight, out + begin * n, n);
      } else {
        gemm<T>(end - begin, n, k, {rows + begin * k, k, 1}, weight, out + begin * n, n, false);
      }
      begin = end;
    }
    std::fill_n(out + begin * n, (x.size(0) - begin) * n, T(0));
  });
  if (at.y != nullptr) from_dense(sums, type, y);
}

}  // namespace

Kernel grouped_matmul_kernel() {
  return {.run = run_grouped<false>, .scratch = scratch_grouped<false>, .strided = 0b010};
}
Kernel grouped_matmul_in_order_kernel() {
  return {.run = run_grouped<true>, .scratch = scratch_grouped<true>, .strided = 0b010};
}

}  // namespace tern::cpu
