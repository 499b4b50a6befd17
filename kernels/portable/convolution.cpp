#include "kernels/portable/window.h"

namespace tern::portable {
namespace {

/// Where the element k of a window lies along axis a; skips what lies outside.
constexpr const char* kPlace =
    "const tern_i64 x##a = at[a] * p.strides[a] + k * p.dilations[a] - p.before[a]; "
    "if (x##a < 0 || x##a >= p.x_sizes[a]) continue;";
constexpr const char* kTransposedPlace =
    "const tern_i64 y##a = at[a] + p.before[a] - k * p.dilations[a]; const tern_i64 x##a = y##a / p.strides[a]; "
    "if (y##a < 0 || y##a % p.strides[a] != 0 || x##a >= p.x_sizes[a]) continue;";

void convolution(const KernelCall& c, Launches& list) {
  const Node& node = *c.node;
  const TensorView &x = c.in[0], &w = c.in[1], &out = c.out[0];
  const auto n = static_cast<std::size_t>(x.rank - 2);
  const bool transposed = node.integer(AttrKey::transposed) != 0;
  const std::int64_t groups = node.integer(AttrKey::groups, 1);
  const DType sum = wide_type(number_type(x.dtype), list.target().has_double);
  Launch k("convolution");
  k.source.arithmetic("SUM", sum);
  k.source.define("TRANSPOSED", transposed ? 1 : 0);
  k.source.define("PLACE(a, k)", transposed ? kTransposedPlace : kPlace);
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, sum);
  k.input("w", 1, w.dtype);
  k.load("LOAD_W", w.dtype, sum);
  k.source.define("BIAS", c.has(2) ? 1 : 0);
  if (c.has(2)) {
    k.input("bias", 2, c.in[2].dtype);
    k.load("LOAD_BIAS", c.in[2].dtype, sum);
    k.parameter("bias_step", c.in[2].stride(0));
  }
  k.output("out", 0, out.dtype);
  k.store("STORE", sum, out.dtype);
  k.parameter("count", out.numel());
  k.parameter("out_channels", out.size(1));
  k.parameter("group_out", out.size(1) / groups);
  k.parameter("group_in", x.size(1) / groups);
  k.parameter("x_batch", x.stride(0));
  k.parameter("x_channel", x.stride(1));
  // A weight is [out, in, kernel], a transposed one [in, out, kernel].
  k.parameter("w_out", w.stride(transposed ? 1 : 0));
  k.parameter("w_in", w.stride(transposed ? 0 : 1));
  parameter(k, "x_sizes", last_sizes(x, n));
  parameter(k, "x_strides", last_strides(x, n));
  parameter(k, "out_sizes", last_sizes(out, n));
  parameter(k, "extent", last_sizes(w, n));
  parameter(k, "w_strides", last_strides(w, n));
  parameter(k, "strides", three_of(node, AttrKey::strides, n, 1, 1));
  parameter(k, "dilations", three_of(node, AttrKey::dilations, n, 1, 1));
  parameter(k, "before", three_of(node, AttrKey::before, n, 0, 0));
  list.add(std::move(k), out.numel());
}

}  // namespace

void register_convolutions(KernelTable& t) {
  t.set(Op::convolution, kernel<convolution>());
}

}  // namespace tern::portable
