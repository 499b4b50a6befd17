#include "kernels/cpu/products/algorithms/integer_problem.h"

#include "kernels/cpu/pointwise/epilogue.h"
#include "kernels/cpu/products/int8/exact.h"

namespace tern::cpu {
namespace {

/// True if the bias has an integer for each column, which the low bits of sums are added to.
bool is_row_of_integers(const TensorView& bias, std::int64_t n) {
  const bool integers = !is_floating(bias.dtype) && !is_complex(bias.dtype);
  return integers && bias.rank == 1 && bias.size(0) == n;
}

}  // namespace

int8::WeightView IntegerProduct::weight(const std::byte* data) const {
  const TensorView& b = problem.b;
  return {data, problem.n, problem.k, b.stride(b.rank - 1), b.stride(b.rank - 2)};
}

std::int64_t IntegerProduct::x_row() const {
  return copies_x || problem.m == 1 ? problem.k : problem.a.stride(problem.a.rank - 2);
}

bool stores_result(const IntegerProduct& product, const KernelCall& call) {
  return !is_byte_integer(call.out[0].dtype) || pointwise::Epilogue(call).stores_bytes(product.problem.n);
}

std::optional<IntegerProduct> integer_product(const KernelCall& c) {
  const TensorView &a = c.in[0], &b = c.in[1], &y = c.out[0];
  if (!is_byte_integer(a.dtype) || !is_byte_integer(b.dtype) || !int8::holds_sums(c)) return std::nullopt;
  IntegerProduct p{.problem = describe(c, false),
                   .signs = {a.dtype == DType::i8, b.dtype == DType::i8},
                   .stores_sums = y.dtype == DType::i32};
  if (y.numel() == 0 || p.problem.k == 0) return std::nullopt;
  if (c.has_input(2) && !(p.stores_sums && is_row_of_integers(c.in[2], p.problem.n))) return std::nullopt;
  if (!p.stores_sums && !int8::is_exact(a.dtype, b.dtype, p.problem.k)) return std::nullopt;
  const TensorView& x = p.problem.a;
  p.copies_x = p.problem.convert_a;
  if (!p.copies_x && x.stride(x.rank - 1) != 1 && p.problem.k != 1) {
    if (p.problem.batch.planes != 1) return std::nullopt;
    p.copies_x = true;
  }
  return p;
}

}  // namespace tern::cpu
