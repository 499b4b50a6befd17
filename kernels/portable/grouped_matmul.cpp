// grouped_matmul: an element for each item.
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "kernels/portable/quantized.h"
#include "kernels/quantized_view.h"

namespace tern::portable {
namespace {

void grouped_matmul(const KernelCall& c, Launches& list) {
  const TensorView &x = c.in[0], &w = c.in[1], &offsets = c.in[2], &out = c.out[0];
  if (out.numel() == 0) return;
  const DType sum = number_type(x.dtype);
  Launch k("grouped_matmul");
  k.source.arithmetic("SUM", sum);
  k.input("x", 0, x.dtype);
  if (w.blocks.columns != 0) {
    declare_quantized(k, "w", 1, quantized_matrix(w));
    k.source.define("WEIGHT(group, k, column)", "W((group) * p.columns + (column), k)");
  } else {
    k.input("w", 1, w.dtype);
    k.load("LOAD_W", w.dtype, sum);
    k.source.define("WEIGHT(group, k, column)",
                    "LOAD_W(w, (group) * p.w_group + (k) * p.w_depth + (column) * p.w_column)");
    k.parameter("w_group", w.stride(0));
    k.parameter("w_depth", w.stride(1));
    k.parameter("w_column", w.stride(2));
  }
  k.input("offsets", 2, offsets.dtype);
  k.load("LOAD_X", x.dtype, sum);
  k.may_fail();
  k.parameter("count", out.numel());
  k.parameter("rows", out.size(0));
  k.parameter("columns", out.size(1));
  k.parameter("depth", x.size(1));
  k.parameter("groups", offsets.size(0));
  k.parameter("x_row", x.stride(0));
  k.parameter("x_depth", x.stride(1));
  k.parameter("offsets_step", offsets.stride(0));
  k.output("out", 0, out.dtype);
  k.store("STORE", sum, out.dtype);
  list.add(std::move(k), out.numel());
}

}  // namespace

void define_grouped_matmul(Definitions& d) {
  d.set(Op::grouped_matmul, kernel<grouped_matmul>());
}

}  // namespace tern::portable
