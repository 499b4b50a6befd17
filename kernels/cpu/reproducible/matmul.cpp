// matmul: operands in the type of the sums, plane by plane, then the bias, then conversion to the result's type.
#include <array>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/problem.h"
#include "kernels/cpu/reproducible/contractions.h"
#include "kernels/cpu/reproducible/product.h"
#include "threads/parallel.h"

namespace tern::reproducible {
namespace {

struct MatmulProblem {
  DType type = DType::f32;  ///< type of the sums
  TensorView a, b;          ///< operands with the result's rank, for the product
  bool convert_a = false, convert_b = false, convert_c = false;
};

TensorView dense_like(const TensorView& v, DType type) {
  TensorView d = planes_without_repeats(v);
  d.dtype = type;
  make_contiguous(d);
  return d;
}

MatmulProblem describe_matmul(const KernelCall& c) {
  const int rank = c.out[0].rank;
  MatmulProblem p{gemm_type(c.in[0].dtype), unsqueeze_to_rank(c.in[0], rank),
                  unsqueeze_to_rank(cpu::right_operand(c), rank)};
  p.convert_a = p.a.dtype != p.type;
  const bool quantized = p.b.blocks.columns != 0;
  p.convert_b = quantized || p.b.dtype != p.type;
  p.convert_c = c.out[0].dtype != p.type;
  if (p.convert_a) p.a = dense_like(p.a, p.type);
  if (p.convert_b && !quantized) p.b = dense_like(p.b, p.type);
  if (quantized) {  // numbers in the order of right_operand
    p.b.dtype = p.type;
    p.b.blocks = {};
  }
  return p;
}

struct MatmulBuffers {
  std::byte *a, *b, *c, *bias;
};
/// A bias common to all rows is a single row of the result.
bool is_row(const TensorView& bias, std::int64_t columns) {
  return bias.numel() == columns && (bias.rank == 0 || bias.size(bias.rank - 1) == columns);
}
MatmulBuffers buffers(const KernelCall& c, const MatmulProblem& p, ScratchArena& arena) {
  const std::int64_t size = element_size(p.type), result = c.out[0].numel();
  const auto part = [&](bool wanted, std::int64_t count) {
    return wanted ? arena.allocate<std::byte>(count * size) : nullptr;
  };
  return {part(p.convert_a, p.a.numel()), part(p.convert_b, p.b.numel()), part(p.convert_c, result),
          part(c.has_input(2),
               c.has_input(2) && is_row(c.in[2], c.out[0].size(c.out[0].rank - 1)) ? c.in[2].numel() : result)};
}

std::size_t scratch_matmul(const KernelCall& c) {
  ScratchArena arena;
  buffers(c, describe_matmul(c), arena);
  return arena.used();
}

/// Broadcasts `v` to the sizes of `out`.
TensorView broadcast(const TensorView& v, const TensorView& out) {
  TensorView b = unsqueeze_to_rank(v, out.rank);
  for (std::size_t i = 0; i < static_cast<std::size_t>(out.rank); ++i) {
    if (b.sizes[i] == out.sizes[i]) continue;
    b.sizes[i] = out.sizes[i];
    b.strides[i] = 0;
  }
  return b;
}

template <class T>
void multiply(const MatmulProblem& p, const TensorView& out, const T* a, const T* b, T* c) {
  const int r = out.rank;
  std::int64_t m = out.size(r - 2), a_row = p.a.stride(r - 2), planes = 1;
  const std::int64_t n = out.size(r - 1), k = p.a.size(r - 1);
  struct Axis {
    std::int64_t size, a, b;
  };
  std::array<Axis, kMaxRank> axes;  // innermost first
  std::size_t count = 0;
  for (int i = r - 3; i >= 0; --i) {
    const std::int64_t size = out.size(i), sa = p.a.size(i) == 1 ? 0 : p.a.stride(i),
                       sb = p.b.size(i) == 1 ? 0 : p.b.stride(i);
    if (size == 1) continue;
    // Planes with adjacent rows and a shared right matrix merge into one plane with more rows.
    if (count == 0 && sb == 0 && (m == 1 || sa == m * a_row)) {
      if (m == 1) a_row = sa;
      m *= size;
      continue;
    }
    axes[count++] = {size, sa, sb};
    planes *= size;
  }
  const auto plane = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t rest = i, at_a = 0, at_b = 0;
      for (std::size_t d = 0; d < count; ++d) {
        at_a += rest % axes[d].size * axes[d].a;
        at_b += rest % axes[d].size * axes[d].b;
        rest /= axes[d].size;
      }
      product<T>(m, n, k, {a + at_a, a_row, p.a.stride(r - 1)}, {b + at_b, p.b.stride(r - 2), p.b.stride(r - 1)},
                 c + i * m * n, n);
    }
  };
  // Many planes: each thread computes whole planes. Few planes: threads share each plane.
  const std::int64_t work = m * n * k;
  if (planes >= 2 * Threads::current().count() || work < (1 << 14)) {
    parallel_for(planes, std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(work, 1)), plane);
  } else {
    plane(0, planes);
  }
}

template <class T>
void add_bias(const T* bias, std::int64_t period, std::int64_t count, T* sums) {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  parallel_for(count / period, std::max<std::int64_t>(1, (1 << 15) / period),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   T* to = sums + row * period;
                   for (std::int64_t i = 0; i < period; ++i)
                     to[i] = static_cast<T>(static_cast<Sum>(to[i]) + static_cast<Sum>(bias[i]));
                 }
               });
}

void run_matmul(KernelCall& c) {
  const TensorView& out = c.out[0];
  if (out.numel() == 0) return;
  Scratch own(c, scratch_matmul(c));
  ScratchArena arena(own.data());
  const MatmulProblem p = describe_matmul(c);
  const MatmulBuffers at = buffers(c, p, arena);
  if (p.convert_a) to_dense(planes_without_repeats(unsqueeze_to_rank(c.in[0], out.rank)), p.type, at.a);
  if (p.convert_b) cpu::convert_right(c, p.type, at.b);
  std::byte* sums = p.convert_c ? at.c : out.data;
  visit_gemm_type(p.type, [&](auto tag) {
    using T = decltype(tag);
    auto* to = reinterpret_cast<T*>(sums);
    multiply<T>(p, out, reinterpret_cast<const T*>(p.convert_a ? at.a : c.in[0].data),
                reinterpret_cast<const T*>(p.convert_b ? at.b : c.in[1].data), to);
    if (!c.has_input(2)) return;
    const bool row = is_row(c.in[2], out.size(out.rank - 1));
    to_dense(row ? c.in[2] : broadcast(c.in[2], out), p.type, at.bias);
    add_bias(reinterpret_cast<const T*>(at.bias), row ? c.in[2].numel() : out.numel(), out.numel(), to);
  });
  if (p.convert_c) from_dense(sums, p.type, out);
}

}  // namespace

Kernel matmul_kernel() {
  return {.run = run_matmul, .scratch = scratch_matmul, .strided = ~0u};
}

}  // namespace tern::reproducible
