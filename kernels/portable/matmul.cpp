// matmul: the batch axes broadcast, sums in the type that the op's rule says.
#include "kernels/portable/axes.h"
#include "kernels/portable/launches.h"

namespace tern::portable {
namespace {

/// The batch axes of `v`, with the sizes of the result's.
TensorView planes(const TensorView& v, const TensorView& out) {
  TensorView b = out;
  b.rank = out.rank - 2;
  const int skip = out.rank - v.rank;
  for (int i = 0; i < b.rank; ++i) {
    const bool repeats = i < skip || v.size(i - skip) == 1;
    b.strides[static_cast<std::size_t>(i)] = repeats ? 0 : v.stride(i - skip);
  }
  return b;
}

void matmul(const KernelCall& c, Launches& list) {
  const TensorView &a = c.in[0], &b = c.in[1], &out = c.out[0];
  const DType sum = wide_type(number_type(a.dtype), list.target().has_double);
  Launch k("matmul");
  k.source.arithmetic("SUM", sum);
  k.input("a", 0, a.dtype);
  k.input("b", 1, b.dtype);
  k.load("LOAD_A", a.dtype, sum);
  k.load("LOAD_B", b.dtype, sum);
  k.parameter("count", out.numel());
  k.parameter("rows", out.size(out.rank - 2));
  k.parameter("columns", out.size(out.rank - 1));
  k.parameter("depth", a.size(a.rank - 1));
  k.parameter("a_row", a.stride(a.rank - 2));
  k.parameter("a_depth", a.stride(a.rank - 1));
  k.parameter("b_depth", b.stride(b.rank - 2));
  k.parameter("b_column", b.stride(b.rank - 1));
  k.source.view("a", planes(a, out));
  k.source.view("b", planes(b, out));
  k.source.define("BIAS", c.has(2) ? 1 : 0);
  if (c.has(2)) {
    k.input("bias", 2, c.in[2].dtype);
    k.load("LOAD_BIAS", c.in[2].dtype, sum);
    k.source.view("bias", broadcast(c.in[2], out));
  }
  k.output("out", 0, out.dtype);
  k.store("STORE", sum, out.dtype);
  list.add(std::move(k), out.numel());
}

}  // namespace

void register_contractions(KernelTable& t) {
  t.set(Op::matmul, kernel<matmul>());
}

}  // namespace tern::portable
