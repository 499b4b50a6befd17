// Vector norms, logsumexp, and operators built on them.
#include <algorithm>
#include <cmath>

#include "exporter/lower/reduction.h"

namespace tern {

ValueId vector_norm(Builder& b, ValueId x, double p, const std::vector<std::int64_t>& axes, bool keepdims,
                    DType result) {
  const DType compute_dtype = compute_type(result), source_dtype = b.dtype(x);
  // Compute type of x's own values: complex for complex numbers.
  const DType operand = !is_complex(source_dtype)     ? compute_dtype
                        : compute_dtype == DType::f64 ? DType::c128
                                                      : DType::c64;
  const auto map = [&](std::string_view text) { return b.expr(text, {{"x", x}, {"p", p}}, operand, compute_dtype); };
  if (p == 0) {
    const ValueId is_nonzero = b.expr("x != 0", {{"x", x}}, operand, DType::boolean);
    return b.reduce(is_nonzero, "sum", axes, keepdims, result);
  }
  // PyTorch takes the magnitude of a single element, which no square overflows.
  const auto alone = [&](std::int64_t axis) { return b.size(x, axis).is(1); };
  const bool has_single_element = std::ranges::all_of(axes.empty() ? b.all_axes(x) : axes, alone);
  if (std::isinf(p))
    return b.cast(b.reduce(map("abs(x)"), p > 0 ? "max" : "min", axes, keepdims, compute_dtype), result);
  if (p == 1 || has_single_element) return b.reduce(map("abs(x)"), "sum", axes, keepdims, result);
  const bool complex = is_complex(source_dtype);
  if (p == 2) {
    const ValueId sum = b.reduce(map(complex ? "real(x) * real(x) + imag(x) * imag(x)" : "x * x"), "sum", axes,
                                 keepdims, compute_dtype);
    return b.expr("sqrt(s)", {{"s", sum}}, result);
  }
  const ValueId magnitude = map("abs(x)");
  const ValueId powers = b.expr("pow(x, p)", {{"x", magnitude}, {"p", p}}, compute_dtype);
  const ValueId sum = b.reduce(powers, "sum", axes, keepdims, compute_dtype);
  return b.expr("pow(s, q)", {{"s", sum}, {"q", 1 / p}}, result);
}

namespace {

using Values = std::vector<ValueId>;

DType real_of(DType t) {
  return t == DType::c32 ? DType::f16 : t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t;
}

Values linalg_vector_norm(Builder& b, const Call& c) {
  const ValueId x = b.cast(c.tensor("self"), c.dtype_or("dtype", b.dtype(c.tensor("self"))));
  return {vector_norm(b, x, c.number("ord"), axes_arg(b, c, x), c.flag("keepdim"), c.result_dtype())};
}

Values norm_all(Builder& b, const Call& c) {
  const ValueId x = b.cast(c.tensor("self"), c.dtype_or("dtype", b.dtype(c.tensor("self"))));
  return {vector_norm(b, x, c.number_or("p", 2), {}, false, c.result_dtype())};
}
Values norm_dim(Builder& b, const Call& c) {
  const ValueId x = b.cast(c.tensor("self"), c.dtype_or("dtype", b.dtype(c.tensor("self"))));
  return {vector_norm(b, x, c.number_or("p", 2), axes_arg(b, c, x), c.flag("keepdim"), c.result_dtype())};
}
Values frobenius_norm(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  return {vector_norm(b, x, 2, axes_arg(b, c, x), c.flag("keepdim"), c.result_dtype())};
}

/// Reduces all axes but `dim`; dim = -1 reduces all axes.
Values norm_except_dim(Builder& b, const Call& c) {
  const ValueId v = c.tensor("v");
  const std::int64_t dim = c.integer("dim");
  std::vector<std::int64_t> axes = b.all_axes(v);
  const double p = c.number("pow");
  if (dim == -1) return {vector_norm(b, v, p, axes, false, c.result_dtype())};
  const std::int64_t retained = b.normal_axis(v, dim);
  axes.erase(axes.begin() + retained);
  // A single axis leaves nothing to reduce, and an empty list would mean all axes.
  if (axes.empty()) return {vector_norm(b, b.unsqueeze(v, 1), p, {1}, false, c.result_dtype())};
  return {vector_norm(b, v, p, axes, true, c.result_dtype())};
}

Values dist(Builder& b, const Call& c) {
  const DType result = c.result_dtype();
  const DType common = promote(b.dtype(c.tensor("self")), b.dtype(c.tensor("other")));
  const ValueId apart = b.expr("x - y", {{"x", c.tensor("self")}, {"y", c.tensor("other")}}, common);
  return {vector_norm(b, apart, c.number("p"), {}, false, result)};
}

/// log(sum(exp(x))), with the largest taken out first; infinities are left in the sum.
Values logsumexp(Builder& b, const Call& c) {
  ValueId x = c.tensor("self");
  const DType result = c.result_dtype(), compute_dtype = compute_type(result), real = real_of(compute_dtype);
  const auto axes = axes_arg(b, c, x);
  const bool keepdims = c.flag("keepdim");
  if (count_along(b, x, axes).is(0)) {
    return {
        b.expr("log(s)", {{"s", b.reduce(b.cast(x, compute_dtype), "sum", axes, keepdims, compute_dtype)}}, result)};
  }
  const ValueId real_parts =
      is_complex(compute_dtype) ? b.expr("real(x)", {{"x", x}}, compute_dtype, real) : b.cast(x, real);
  const ValueId upper = b.reduce(real_parts, "max", axes, true, real);
  const ValueId top = b.expr("isinf(m) ? 0 : m", {{"m", upper}}, real);
  const ValueId sum =
      b.reduce(b.expr("exp(x - m)", {{"x", x}, {"m", top}}, compute_dtype), "sum", axes, true, compute_dtype);
  const ValueId y = b.expr("log(s) + m", {{"s", sum}, {"m", top}}, result);
  if (keepdims) return {y};
  Dims shape;
  const Dims full = b.shape(x);
  for (std::size_t i = 0; i < full.size(); ++i) {
    bool reduced = axes.empty();
    for (std::int64_t a : axes) reduced = reduced || a == static_cast<std::int64_t>(i);
    if (!reduced) shape.push_back(full[i]);
  }
  return {b.reshape(y, shape)};
}

/// Scales slices along `dim` with a norm above maxnorm down to maxnorm.
Values renorm(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t dim = b.normal_axis(x, c.integer("dim"));
  std::vector<std::int64_t> other_axes;
  for (std::int64_t a : b.all_axes(x)) {
    if (a != dim) other_axes.push_back(a);
  }
  const DType compute_dtype = real_of(compute_type(b.dtype(x)));
  const ValueId norm = vector_norm(b, x, c.number("p"), other_axes, true, compute_dtype);
  const ValueId factor = b.expr("n > m ? m / (n + 1e-7) : 1", {{"n", norm}, {"m", c.number("maxnorm")}}, compute_dtype);
  return {b.expr("x * f", {{"x", x}, {"f", factor}}, b.dtype(x))};
}

constexpr Lowering kNormsLowerings[] = {
    {"aten.linalg_vector_norm.default", linalg_vector_norm},
    {"aten.norm.Scalar", norm_all},
    {"aten.norm.ScalarOpt_dtype", norm_all},
    {"aten.norm.ScalarOpt_dim", norm_dim},
    {"aten.norm.ScalarOpt_dim_dtype", norm_dim},
    {"aten.frobenius_norm.dim", frobenius_norm},
    {"aten.norm_except_dim.default", norm_except_dim},
    {"aten.dist.default", dist},
    {"aten.logsumexp.default", logsumexp},
    {"aten.special_logsumexp.default", logsumexp},
    {"aten.renorm.default", renorm},
};

}  // namespace

std::span<const Lowering> norm_lowerings() {
  return kNormsLowerings;
}

}  // namespace tern
