// Lowerings of matrix norms and of linalg.norm (a matrix or a vector norm).
#include <cmath>

#include "exporter/lower/linalg.h"
#include "exporter/lower/reduction.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;
using Axes = std::vector<std::int64_t>;

/// The singular values of the matrices in two axes, in a new last axis.
ValueId values_of(Builder& b, ValueId x, const Axes& axes) {
  Axes order;
  for (std::int64_t i = 0; i < b.rank(x); ++i) {
    if (i != axes[0] && i != axes[1]) order.push_back(i);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  return singular_values(b, b.permute(x, order));
}

/// The two axes of the matrices, from 0.
Axes normal_axes(Builder& b, const Call& c, ValueId x, Axes axes) {
  if (axes.size() != 2) c.unsupported("a matrix norm needs two axes");
  for (std::int64_t& a : axes) a = b.normal_axis(x, a);
  if (axes[0] == axes[1]) c.unsupported("the two axes are the same");
  return axes;
}

/// Restores reduced axes with size 1.
ValueId restore_axes(Builder& b, ValueId x, const Axes& axes, bool keepdims) {
  if (!keepdims) return x;
  x = b.unsqueeze(x, std::min(axes[0], axes[1]));
  return b.unsqueeze(x, std::max(axes[0], axes[1]));
}

}  // namespace

ValueId matrix_norm(Builder& b, const Call& c, ValueId x, double ord, Axes axes, bool keepdims, DType result) {
  axes = normal_axes(b, c, x, std::move(axes));
  const double size = std::fabs(ord);
  const char* reduction = ord > 0 ? "max" : "min";
  if (size == 2) {
    const ValueId s = values_of(b, x, axes);
    return restore_axes(b, b.reduce(s, reduction, {-1}, false, result), axes, keepdims);
  }
  if (size != 1 && !std::isinf(ord)) c.unsupported("the order of a matrix norm must be 1, 2 or infinity");
  if (std::isinf(ord)) std::swap(axes[0], axes[1]);
  const ValueId sums = vector_norm(b, x, 1, {axes[0]}, true, result);
  const ValueId r = b.reduce(sums, reduction, {axes[1]}, true, result);
  if (keepdims) return r;
  return b.squeeze(b.squeeze(r, std::max(axes[0], axes[1])), std::min(axes[0], axes[1]));
}

ValueId matrix_norm(Builder& b, const Call& c, ValueId x, std::string_view ord, Axes axes, bool keepdims,
                    DType result) {
  axes = normal_axes(b, c, x, std::move(axes));
  if (ord == "fro") return vector_norm(b, x, 2, axes, keepdims, result);
  if (ord != "nuc") c.unsupported("unsupported order of a matrix norm: '" + std::string(ord) + "'");
  const ValueId s = values_of(b, x, axes);
  return restore_axes(b, b.reduce(s, "sum", {-1}, false, result), axes, keepdims);
}

namespace {

/// self, cast to the dtype argument of the call.
ValueId self(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  return b.cast(x, c.dtype_or("dtype", b.dtype(x)));
}

Values linalg_matrix_norm(Builder& b, const Call& c) {
  return {matrix_norm(b, c, self(b, c), c.number("ord"), c.integers("dim"), c.flag("keepdim"), c.result_dtype())};
}
Values linalg_matrix_norm_text(Builder& b, const Call& c) {
  return {matrix_norm(b, c, self(b, c), c.text("ord"), c.integers("dim"), c.flag("keepdim"), c.result_dtype())};
}

Values linalg_norm(Builder& b, const Call& c) {
  const ValueId x = self(b, c);
  const Axes axes = c.has_argument("dim") ? c.integers("dim") : Axes{};
  const bool matrix = c.has_argument("ord") && (axes.size() == 2 || (!c.has_argument("dim") && b.rank(x) == 2));
  if (matrix) {
    return {
        matrix_norm(b, c, x, c.number("ord"), axes.empty() ? Axes{0, 1} : axes, c.flag("keepdim"), c.result_dtype())};
  }
  return {vector_norm(b, x, c.number_or("ord", 2), axes_arg(b, c, x), c.flag("keepdim"), c.result_dtype())};
}
Values linalg_norm_text(Builder& b, const Call& c) {
  const Axes axes = c.has_argument("dim") ? c.integers("dim") : Axes{0, 1};
  return {matrix_norm(b, c, self(b, c), c.text("ord"), axes, c.flag("keepdim"), c.result_dtype())};
}

Values nuclear_norm(Builder& b, const Call& c) {
  return {matrix_norm(b, c, c.tensor("self"), "nuc", {0, 1}, c.flag("keepdim"), c.result_dtype())};
}
Values nuclear_norm_dim(Builder& b, const Call& c) {
  return {matrix_norm(b, c, c.tensor("self"), "nuc", c.integers("dim"), c.flag("keepdim"), c.result_dtype())};
}

/// The sum of |x|^ord.
Values linalg_powsum(Builder& b, const Call& c) {
  const ValueId x = self(b, c);
  const DType result = c.result_dtype(), compute_dtype = compute_type(result);
  const double ord = c.number("ord");
  if (!std::isfinite(ord)) c.unsupported("the order must be finite");
  const DType operand = !is_complex(b.dtype(x))       ? compute_dtype
                        : compute_dtype == DType::f64 ? DType::c128
                                                      : DType::c64;
  const ValueId magnitudes = b.expr("abs(x)", {{"x", x}}, operand, compute_dtype);
  const ValueId powers = b.expr("pow(x, p)", {{"x", magnitudes}, {"p", ord}}, compute_dtype);
  return {b.reduce(powers, "sum", axes_arg(b, c, x), c.flag("keepdim"), result)};
}

constexpr Lowering kLinalgNormLowerings[] = {
    {"aten.linalg_matrix_norm.default", linalg_matrix_norm},
    {"aten.linalg_matrix_norm.str_ord", linalg_matrix_norm_text},
    {"aten.linalg_norm.default", linalg_norm},
    {"aten.linalg_norm.ord_str", linalg_norm_text},
    {"aten.linalg__powsum.default", linalg_powsum},
    {"aten.nuclear_norm.default", nuclear_norm},
    {"aten.nuclear_norm.dim", nuclear_norm_dim},
};

}  // namespace

std::span<const Lowering> matrix_norm_lowerings() {
  return kLinalgNormLowerings;
}

}  // namespace tern
