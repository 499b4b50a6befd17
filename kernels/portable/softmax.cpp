#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "kernels/portable/rows.h"
#include "schema/pointwise.h"

namespace tern::portable {
namespace {

/// What both texts declare: a line for each item, or a line by lanes.
struct Lines {
  Axes from, to;
  std::int64_t length, x_step, y_step;
  void declare(Launch& k) const {
    from.declare(k.source, "from");
    to.declare(k.source, "to");
    k.parameter("lines", from.count);
    k.parameter("length", length);
    k.parameter("x_step", x_step);
    k.parameter("y_step", y_step);
  }
};

void by_rows(const KernelCall& c, Launches& list, const Rows& rows, const Lines& lines, DType t, DType sum) {
  const DType x = c.in[0].dtype, y = c.out[0].dtype;
  Launch k("softmax_rows");
  rows.declare(k.source);
  rows.type(k.source, "T", t);
  rows.math(k.source, "MATH", t);
  rows.type(k.source, "SUM_T", sum);
  k.source.math("SUM_MATH", sum);
  k.source.define("LOG", c.node->integer(AttrKey::log) != 0 ? 1 : 0);
  k.input("x", 0, x);
  rows.load(k.source, "LOAD_X", x, x, t);
  k.output("y", 0, y);
  rows.store(k.source, "STORE", t, y);
  lines.declare(k);
  rows.add(list, std::move(k), lines.from.count);
}

void softmax(const KernelCall& c, Launches& list) {
  const TensorView x = as_line(c.in[0]), y = as_line(c.out[0]);
  if (y.numel() == 0) return;
  const int axis = axis_of(*c.node, x.rank);
  const bool wide = compute_type(x.dtype) == DType::f64 || compute_type(y.dtype) == DType::f64;
  const DType t = wide ? DType::f64 : DType::f32;
  const DType sum = wide_type(t, list.target().has_double);
  const Lines lines{axes_without(x, axis), axes_without(y, axis), x.size(axis), x.stride(axis), y.stride(axis)};
  Axes along;
  along.add(x.size(axis), x.stride(axis));
  RowLayout layout(lines.from, along);
  layout.dense = layout.dense && lines.y_step == 1;
  if (const auto rows = Rows::choose(list.target(), layout, t, true)) return by_rows(c, list, *rows, lines, t, sum);
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
  lines.declare(k);
  list.add(std::move(k), lines.from.count);
}

}  // namespace

void define_softmax(Definitions& d) {
  d.set(Op::softmax, kernel<softmax>());
}

}  // namespace tern::portable
