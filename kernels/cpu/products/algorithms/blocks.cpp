// Products of strided operands by gemm(). Operands whose type differs from the type of the sums are converted first.
#include <algorithm>

#include "kernels/cpu/products/choose.h"
#include "kernels/cpu/products/gemm.h"
#include "kernels/cpu/products/problem.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

struct BlocksBuffers {
  std::byte *a, *b, *c;  ///< converted operands, and the sums; null where none is needed
};
BlocksBuffers take_buffers(const Problem& p, std::int64_t result_elements, ScratchArena& arena) {
  const std::int64_t size = element_size(p.type);
  return {p.convert_a ? arena.allocate<std::byte>(planes_without_repeats(p.a).numel() * size) : nullptr,
          p.convert_b ? arena.allocate<std::byte>(planes_without_repeats(p.b).numel() * size) : nullptr,
          p.convert_c ? arena.allocate<std::byte>(result_elements * size) : nullptr};
}

/// Copies the broadcast bias to the sums; false without a bias.
bool copy_bias(const KernelCall& c, DType type, void* sums) {
  if (!c.has_input(2)) return false;
  TensorView bias = unsqueeze_to_rank(c.in[2], c.out[0].rank);
  for (std::size_t i = 0; i < static_cast<std::size_t>(bias.rank); ++i) {
    if (bias.sizes[i] == c.out[0].sizes[i]) continue;
    bias.sizes[i] = c.out[0].sizes[i];
    bias.strides[i] = 0;
  }
  to_dense(bias, type, sums);
  return true;
}

template <class T>
void multiply(const Problem& p, const T* a, const T* b, T* c, bool accumulate) {
  const auto r = static_cast<std::size_t>(p.a.rank);
  const auto multiply_planes = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Batch::Offsets offsets = p.batch.offsets_of(i);
      gemm<T>(p.m, p.n, p.k, {a + offsets.a, p.a.strides[r - 2], p.a.strides[r - 1]},
              {b + offsets.b, p.b.strides[r - 2], p.b.strides[r - 1]}, c + i * p.m * p.n, p.n, accumulate);
    }
  };
  // Many planes: each thread multiplies whole planes. Few: the threads share each plane.
  const std::int64_t plane_work = p.m * p.n * p.k;
  if (p.batch.planes >= 2 * Threads::current().count() || plane_work < (1 << 14)) {
    parallel_for(p.batch.planes, std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(plane_work, 1)),
                 multiply_planes);
  } else {
    multiply_planes(0, p.batch.planes);
  }
}

class ProductBlocks : public PreparedAlgorithm {
 public:
  ProductBlocks() { choice = {Algorithm::blocks}; }

  void reserve(const KernelCall& c, ScratchArena& arena) const override {
    take_buffers(describe(c), c.out[0].numel(), arena);
  }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue*) const override {
    const TensorView& out = c.out[0];
    const Problem p = describe(c);
    const BlocksBuffers buffers = take_buffers(p, out.numel(), arena);
    if (p.convert_a) to_dense(planes_without_repeats(unsqueeze_to_rank(c.in[0], out.rank)), p.type, buffers.a);
    if (p.convert_b) convert_right(c, p.type, buffers.b);
    void* sums = p.convert_c ? buffers.c : out.data;
    const bool accumulate = copy_bias(c, p.type, sums);
    visit_gemm_type(p.type, [&](auto tag) {
      using T = decltype(tag);
      const auto* a = reinterpret_cast<const T*>(p.convert_a ? buffers.a : c.in[0].data);
      const auto* b = reinterpret_cast<const T*>(p.convert_b ? buffers.b : c.in[1].data);
      multiply<T>(p, a, b, static_cast<T*>(sums), accumulate);
    });
    if (p.convert_c) from_dense(sums, p.type, out);
    return RemainingWork::epilogue;
  }
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> prepare_blocks(const ProductProperties&) {
  return std::make_unique<ProductBlocks>();
}

}  // namespace tern::cpu
