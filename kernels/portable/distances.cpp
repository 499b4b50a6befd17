// cdist: an element for each item.
#include <cmath>

#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"

namespace tern::portable {
namespace {

/// The axes of `v` except the last two, with the result's sizes.
void declare_planes_distances(Launch& k, const char* name, const TensorView& v, const TensorView& out) {
  Axes planes;
  for (int i = 0; i < out.rank - 2; ++i) {
    const int at = i - (out.rank - v.rank);
    planes.add(out.size(i), at < 0 || v.size(at) == 1 ? 0 : v.stride(at));
  }
  planes.declare(k.source, name);
}

void cdist(const KernelCall& c, Launches& list) {
  const TensorView &x = c.in[0], &y = c.in[1], &out = c.out[0];
  if (out.numel() == 0) return;
  const DType t = compute_type(x.dtype), sum = wide_type(t, list.target().has_double);
  const double p = c.node->number(AttrKey::p);
  Launch k("cdist");
  k.type("T", t);
  k.type("SUM_T", sum);
  k.source.math("MATH", sum);
  k.input("x", 0, x.dtype);
  k.input("y", 1, y.dtype);
  k.load("LOAD_X", x.dtype, t);
  k.load("LOAD_Y", y.dtype, t);
  declare_planes_distances(k, "x", x, out);
  declare_planes_distances(k, "y", y, out);
  const bool largest = std::isinf(p);
  k.source.define("LARGEST", largest ? 1 : 0);
  k.source.define("TERM(d)", largest || p == 1 ? "(d)"
                             : p == 2          ? "((d) * (d))"
                             : p == 0          ? "((d) != 0 ? (SUM_T)1 : (SUM_T)0)"
                                               : "MATH(pow)((SUM_T)(d), p.power)");
  k.source.define("ROOT(s)", largest || p == 1 || p == 0 ? "(s)"
                             : p == 2                    ? "sqrt(s)"
                                                         : "MATH(pow)((SUM_T)(s), 1 / p.power)");
  k.source.parameter("power", sum, largest ? 0 : p);
  k.parameter("count", out.numel());
  k.parameter("rows", out.size(out.rank - 2));
  k.parameter("columns", out.size(out.rank - 1));
  k.parameter("length", x.size(x.rank - 1));
  k.parameter("x_row", x.stride(x.rank - 2));
  k.parameter("x_step", x.stride(x.rank - 1));
  k.parameter("y_row", y.stride(y.rank - 2));
  k.parameter("y_step", y.stride(y.rank - 1));
  k.output("out", 0, out.dtype);
  k.store("STORE", sum, out.dtype);
  list.add(std::move(k), out.numel());
}

constexpr std::string_view kCdistSamples[] = {
    "T=f32|f64: T[3,4], T[3,4]; p=0|1|2|3|inf",
};

}  // namespace

void define_distances(Definitions& d) {
  d.set(Op::cdist, kernel<cdist>(), {.samples = kCdistSamples});
}

}  // namespace tern::portable
