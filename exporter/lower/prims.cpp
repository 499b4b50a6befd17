// Operators of torch._prims without an ATen equivalent (exporter/import/prims.cpp has the others).
#include <algorithm>

#include "exporter/lower/reduction.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// Integers are divided toward zero.
Values div(Builder& b, const Call& c) {
  const DType t = c.result_dtype();
  return {b.expr(is_integral(t) ? "truncdiv(x, y)" : "x / y", {{"x", c.tensor("self")}, {"y", c.tensor("other")}}, t)};
}

Values fma(Builder& b, const Call& c) {
  return {b.expr("fma(x, y, z)", {{"x", c.tensor("a")}, {"y", c.tensor("b")}, {"z", c.tensor("c")}}, c.result_dtype())};
}

Values cbrt(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  // A step of Newton's method corrects the rounding of the power.
  return {
      b.expr("y = pow(abs(x), 1 / 3.0); z = y - (y * y * y - abs(x)) / (3 * y * y); "
             "x == 0 || isinf(x) || isnan(x) ? x : x < 0 ? -z : z",
             {{"x", x}}, b.dtype(x) == DType::f32 ? DType::f64 : compute_type(b.dtype(x)), c.result_dtype())};
}

/// Operand axis i becomes axis broadcast_dimensions[i] of the shape.
Values broadcast_in_dim(Builder& b, const Call& c) {
  const ValueId x = c.tensor("a");
  const Dims shape = c.dims("shape");
  Dims aligned(shape.size(), 1);
  const std::vector<std::int64_t> axes = c.integers("broadcast_dimensions");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || static_cast<std::size_t>(axes[i]) >= shape.size() || i >= b.shape(x).size())
      c.unsupported("broadcast_dimensions names an axis outside the shape");
    aligned[static_cast<std::size_t>(axes[i])] = b.shape(x)[i];
  }
  return {b.expand(b.reshape(x, aligned), shape)};
}

/// Merges axes start to end, end included.
Values collapse(Builder& b, const Call& c) {
  const ValueId x = c.tensor("a");
  const Dims shape = b.shape(x);
  if (shape.empty()) return {b.reshape(x, {1})};
  const auto start = static_cast<std::size_t>(b.normal_axis(x, c.integer("start")));
  const auto end = static_cast<std::size_t>(b.normal_axis(x, c.integer("end")));
  if (start > end) c.unsupported("start is after end");
  Dims sizes(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(start));
  sizes.push_back(b.pool().product(std::span(shape).subspan(start, end - start + 1)));
  sizes.insert(sizes.end(), shape.begin() + static_cast<std::ptrdiff_t>(end) + 1, shape.end());
  return {b.reshape(x, sizes)};
}

/// Splits an axis in two, the outer of size outer_length.
Values split_dim(Builder& b, const Call& c) {
  const ValueId x = c.tensor("a");
  Dims sizes = b.shape(x);
  const auto axis = static_cast<std::size_t>(b.normal_axis(x, c.integer("dim")));
  const Dim outer = c.dim("outer_length");
  const Dim inner = b.pool().floordiv(sizes[axis], outer);
  sizes[axis] = outer;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1, inner);
  return {b.reshape(x, sizes)};
}

Values iota(Builder& b, const Call& c) {
  const DType t = c.result_dtype();
  const ValueId i = b.iota(c.dim("length"), DType::i64);
  const ValueId start = b.from_dim(c.dim("start")), step = b.from_dim(c.dim("step"));
  return {b.expr("start + i * step", {{"start", start}, {"i", i}, {"step", step}}, DType::i64, t)};
}

Values prod(Builder& b, const Call& c) {
  const ValueId x = c.tensor("inp");
  const std::vector<std::int64_t> axes = c.has_argument("dims") ? c.integers("dims") : b.all_axes(x);
  return {b.reduce(b.cast(x, c.result_dtype()), "prod", axes, false, c.result_dtype())};
}

constexpr Lowering kPrimsLowerings[] = {
    {"prims.broadcast_in_dim.default", broadcast_in_dim},
    {"prims.cbrt.default", cbrt},
    {"prims.collapse.default", collapse},
    {"prims.collapse_view.default", collapse},
    {"prims.div.default", div},
    {"prims.fma.default", fma},
    {"prims.iota.default", iota},
    {"prims.prod.default", prod},
    {"prims.split_dim.default", split_dim},
};

}  // namespace

std::span<const Lowering> prim_lowerings() {
  return kPrimsLowerings;
}

}  // namespace tern
