// Products of strided operands: those of another type than the sums' are converted first.
#include <algorithm>

#include "kernels/cpu/products/choose.h"
#include "kernels/cpu/products/gemm.h"
#include "kernels/cpu/products/problem.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

struct BlocksBuffers {
  std::byte *a, *b, *c;
};
BlocksBuffers buffers(const Problem& p, std::int64_t result, ScratchParts& parts) {
  const std::int64_t size = element_size(p.type);
  return {p.convert_a ? parts.take<std::byte>(planes_without_repeats(p.a).numel() * size) : nullptr,
          p.convert_b ? parts.take<std::byte>(planes_without_repeats(p.b).numel() * size) : nullptr,
          p.convert_c ? parts.take<std::byte>(result * size) : nullptr};
}

/// The result's elements before the product: the bias, broadcast. False where there is none.
bool start_with_bias(const KernelCall& c, DType type, void* sums) {
  if (!c.has(2)) return false;
  TensorView bias = with_rank(c.in[2], c.out[0].rank);
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
  const auto plane = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Batch::Offsets at = p.batch.at(i);
      gemm<T>(p.m, p.n, p.k, {a + at.a, p.a.strides[r - 2], p.a.strides[r - 1]},
              {b + at.b, p.b.strides[r - 2], p.b.strides[r - 1]}, c + i * p.m * p.n, p.n, accumulate);
    }
  };
  // Many planes: one each for the threads. Few: the threads share each.
  const std::int64_t work = p.m * p.n * p.k;
  if (p.batch.planes >= 2 * Threads::current().count() || work < (1 << 14)) {
    parallel_for(p.batch.planes, std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(work, 1)), plane);
  } else {
    plane(0, p.batch.planes);
  }
}

class ProductBlocks : public PreparedAlgorithm {
 public:
  ProductBlocks() { choice = {Algorithm::blocks}; }

  void reserve(const KernelCall& c, ScratchParts& parts) const override {
    buffers(describe(c), c.out[0].numel(), parts);
  }

  RemainingWork run(KernelCall& c, ScratchParts& parts, const pointwise::Epilogue*) const override {
    const TensorView& out = c.out[0];
    const Problem p = describe(c);
    const BlocksBuffers at = buffers(p, out.numel(), parts);
    if (p.convert_a) to_dense(planes_without_repeats(with_rank(c.in[0], out.rank)), p.type, at.a);
    if (p.convert_b) convert_right(c, p.type, at.b);
    void* sums = p.convert_c ? at.c : out.data;
    const bool accumulate = start_with_bias(c, p.type, sums);
    visit_gemm_type(p.type, [&](auto tag) {
      using T = decltype(tag);
      const auto* a = reinterpret_cast<const T*>(p.convert_a ? at.a : c.in[0].data);
      const auto* b = reinterpret_cast<const T*>(p.convert_b ? at.b : c.in[1].data);
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
