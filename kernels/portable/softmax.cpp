#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "schema/pointwise.h"

namespace tern::portable {
namespace {

void softmax(const KernelCall& c, Launches& list) {
  const TensorView x = as_line(c.in[0]), y = as_line(c.out[0]);
  const int axis = axis_of(*c.node, x.rank);
  const bool wide = compute_type(x.dtype) == DType::f64 || compute_type(y.dtype) == DType::f64;
  const DType t = wide ? DType::f64 : DType::f32;
  const DType sum = wide_type(t, list.target().has_double);
  const Axes from = axes_without(x, axis), to = axes_without(y, axis);
  Launch k("softmax");
  k.type("T", t);
  k.source.math("MATH", t);
  k.type("SUM_T", sum);
  k.source.math("SUM_MATH", sum);
  k.source.use("parts");
  k.source.define("LOG", c.node->integer(AttrKey::log) != 0 ? 1 : 0);
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, t);
  k.output("y", 0, y.dtype);
  k.store("STORE", t, y.dtype);
  from.declare(k.source, "from");
  to.declare(k.source, "to");
  k.parameter("lines", from.count);
  k.parameter("length", x.size(axis));
  k.parameter("x_step", x.stride(axis));
  k.parameter("y_step", y.stride(axis));
  list.add(std::move(k), y.numel() == 0 ? 0 : from.count);
}

}  // namespace

void define_softmax(Definitions& d) {
  d.set(Op::softmax, kernel<softmax>());
}

}  // namespace tern::portable
