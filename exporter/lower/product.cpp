// Lowerings of matrix products: mm, matmul, addmm and their relatives.
#include "exporter/gradients/apply_rule.h"
#include "exporter/lower/contraction.h"

namespace tern {

ValueId product(Builder& b, ValueId a, ValueId right, DType dtype, ValueId bias) {
  const bool row = b.rank(a) == 1, column = b.rank(right) == 1;
  if (row) a = b.unsqueeze(a, 0);
  if (column) right = b.unsqueeze(right, 1);
  std::vector<Attr> attrs;
  if (dtype != DType::invalid && dtype != b.dtype(a)) attrs.push_back(attr_dtype(dtype));
  ValueId result = b.add(Op::matmul, {a, right, bias}, std::move(attrs));
  if (column) result = b.squeeze(result, -1);
  if (row) result = b.squeeze(result, column ? -1 : -2);
  return result;
}

std::complex<double> scalar_or(const Call& c, ArgumentName name, std::complex<double> otherwise) {
  if (!c.has_argument(name)) return otherwise;
  const CallArgument& o = c.arg(name);
  if (o.kind == CallArgument::Kind::complex) return {o.number, o.imaginary};
  return c.number(name);
}

ValueId conjugate(Builder& b, ValueId x) {
  return is_complex(b.dtype(x)) ? b.expr("conj(x)", {{"x", x}}, b.dtype(x)) : x;
}

namespace {

using Values = std::vector<ValueId>;

Values matmul(Builder& b, const Call& c, ArgumentName left, ArgumentName right) {
  return {product(b, c.tensor(left), c.tensor(right), c.result_dtype())};
}
Values mm(Builder& b, const Call& c) {
  return matmul(b, c, "self", "mat2");
}
Values sparse_mm(Builder& b, const Call& c) {
  return matmul(b, c, "sparse", "dense");
}
Values matmul_other(Builder& b, const Call& c) {
  return matmul(b, c, "self", "other");
}
Values mv(Builder& b, const Call& c) {
  return matmul(b, c, "self", "vec");
}
Values dot(Builder& b, const Call& c) {
  return matmul(b, c, "self", "tensor");
}

Values vdot(Builder& b, const Call& c) {
  return {product(b, conjugate(b, c.tensor("self")), c.tensor("other"), c.result_dtype())};
}

Values inner(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), y = c.tensor("other");
  if (b.rank(x) == 0 || b.rank(y) == 0) return {b.expr("x * y", {{"x", x}, {"y", y}}, c.result_dtype())};
  Dims shape(b.shape(x).begin(), b.shape(x).end() - 1);
  shape.insert(shape.end(), b.shape(y).begin(), b.shape(y).end() - 1);
  const Dim k = b.size(x, -1);
  const auto rows = [&](ValueId v) {
    return b.rank(v) == 1 ? b.unsqueeze(v, 0)
                          : b.reshape(v, {b.pool().product({b.shape(v).data(), b.shape(v).size() - 1}), k});
  };
  return {b.reshape(product(b, rows(x), b.transpose(rows(y), 0, 1), c.result_dtype()), shape)};
}

Values outer(Builder& b, const Call& c) {
  return {b.expr("x * y", {{"x", b.unsqueeze(c.tensor("self"), 1)}, {"y", b.unsqueeze(c.tensor("vec2"), 0)}},
                 c.result_dtype())};
}

Values addr_product(Builder& b, const Call& c) {
  const DType result = c.result_dtype();
  const ValueId self = c.tensor("self"), x = b.unsqueeze(c.tensor("vec1"), 1), y = b.unsqueeze(c.tensor("vec2"), 0);
  const auto beta = scalar_or(c, "beta", 1.0), alpha = scalar_or(c, "alpha", 1.0);
  if (result == DType::boolean) {
    if (alpha == 0.0)
      return {b.expr("beta && s || x && y && false_",
                     {{"s", self}, {"x", x}, {"y", y}, {"beta", beta}, {"false_", 0.0}}, result)};
    if (beta == 0.0) return {b.expand(b.expr("x && y", {{"x", x}, {"y", y}}, result), {b.size(x, 0), b.size(y, 1)})};
    return {b.expr("s || x && y", {{"s", self}, {"x", x}, {"y", y}}, result)};
  }
  if (beta == 0.0) return {b.expr("alpha * x * y", {{"x", x}, {"y", y}, {"alpha", alpha}}, result)};
  return {
      b.expr("beta * s + alpha * x * y", {{"s", self}, {"x", x}, {"y", y}, {"beta", beta}, {"alpha", alpha}}, result)};
}

/// beta * self + alpha * (a b). beta 0 skips self, ignoring its NaN and infinities.
ValueId add_product(Builder& b, const Call& c, ValueId a, ValueId right, DType result) {
  const auto beta = scalar_or(c, "beta", 1.0), alpha = scalar_or(c, "alpha", 1.0);
  const ValueId self = c.tensor("self");
  const bool add = beta != 0.0;
  const bool vector = b.rank(right) == 1;  // keeps the bias off the product's temporary axis
  if (alpha == 1.0 && !add) return product(b, a, right, result);
  if (alpha == 1.0 && beta == 1.0 && !vector && b.dtype(self) == result) return product(b, a, right, result, self);
  const DType compute_dtype = promote(b.dtype(a), compute_type(result));
  const ValueId ab = product(b, a, right, compute_dtype);
  if (!add) return b.expr("alpha * p", {{"p", ab}, {"alpha", alpha}}, compute_dtype, result);
  return b.expr("beta * s + alpha * p", {{"s", self}, {"p", ab}, {"alpha", alpha}, {"beta", beta}}, compute_dtype,
                result);
}

Values addmm(Builder& b, const Call& c) {
  return {add_product(b, c, c.tensor("mat1"), c.tensor("mat2"), c.result_dtype())};
}
Values baddbmm(Builder& b, const Call& c) {
  return {add_product(b, c, c.tensor("batch1"), c.tensor("batch2"), c.result_dtype())};
}
Values addmv(Builder& b, const Call& c) {
  return {add_product(b, c, c.tensor("mat"), c.tensor("vec"), c.result_dtype())};
}

/// PyTorch adds the batch's products in sequence and rounds each; a long or symbolic batch becomes a longer inner axis.
Values addbmm(Builder& b, const Call& c) {
  constexpr std::int64_t kMaxDotProducts = 64;
  ValueId x = c.tensor("batch1"), y = c.tensor("batch2");
  const DType result = c.result_dtype();
  const Dim count = b.size(x, 0);
  if (result == DType::c64) {  // large cancelling products need more than PyTorch's accuracy to approach its result
    x = b.cast(x, DType::c128);
    y = b.cast(y, DType::c128);
  }
  if (count.is_const() && count.value() > 1 && count.value() <= kMaxDotProducts && result != DType::c64) {
    const auto alpha = scalar_or(c, "alpha", 1.0);
    ValueId sum = add_product(b, c, b.select(x, 0, 0), b.select(y, 0, 0), result);
    for (std::int64_t i = 1; i < count.value(); ++i) {
      const ValueId p = product(b, b.select(x, 0, i), b.select(y, 0, i), compute_type(result));
      sum = b.expr("s + alpha * p", {{"s", sum}, {"p", p}, {"alpha", alpha}}, result);
    }
    return {sum};
  }
  const Dim inner = b.pool().mul(count, b.size(x, 2));
  const ValueId left = b.reshape(b.permute(x, {1, 0, 2}), {b.size(x, 1), inner});
  const ValueId right = b.reshape(y, {inner, b.size(y, 2)});
  return {add_product(b, c, left, right, result)};
}

Values addmm_activation(Builder& b, const Call& c) {
  const DType result = c.result_dtype();
  const ValueId sum = add_product(b, c, c.tensor("mat1"), c.tensor("mat2"), compute_type(result));
  if (!c.flag_or("use_gelu", false)) return {b.expr("max(x, 0)", {{"x", sum}}, result)};
  return {b.expr("0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))", {{"x", sum}}, result)};
}

Values linear(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input"), weight = c.tensor("weight"), bias = c.tensor_or_none("bias");
  const DType result = c.result_dtype();
  if (b.rank(weight) == 2 && b.rank(x) > 1) return {product(b, x, b.transpose(weight, 0, 1), result, bias)};
  const ValueId y = product(b, x, b.rank(weight) == 2 ? b.transpose(weight, 0, 1) : weight, result);
  return {bias == kNoValue ? y : b.expr("y + bias", {{"y", y}, {"bias", bias}}, result)};
}

/// x1^T W x2 for each output: x1 and W first, rounded as PyTorch does, then a product of rows.
Values bilinear(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input1"), y = c.tensor("input2"), weight = c.tensor("weight"),
                bias = c.tensor_or_none("bias");
  const DType result = c.result_dtype();
  const Dim output_features = b.size(weight, 0), i = b.size(weight, 1), j = b.size(weight, 2);
  Dims shape(b.shape(x).begin(), b.shape(x).end() - 1);
  shape.push_back(output_features);
  const Dim rows = b.pool().product({b.shape(x).data(), b.shape(x).size() - 1});
  const ValueId w = b.reshape(b.permute(weight, {1, 0, 2}), {i, b.pool().mul(output_features, j)});
  const ValueId left = b.reshape(product(b, b.reshape(x, {rows, i}), w, result), {rows, output_features, j});
  ValueId r = product(b, left, b.reshape(y, {rows, j, 1}));
  r = b.reshape(r, {rows, output_features});
  if (bias != kNoValue) r = b.expr("r + bias", {{"r", r}, {"bias", bias}}, result);
  return {b.reshape(r, shape)};
}

Values grouped_mm_fallback(Builder& b, const Call& c) {
  return {b.add(Op::grouped_matmul, {c.tensor("input"), c.tensor("weight"), c.tensor("offs")},
                {attr_dtype(c.result_dtype())})};
}

Values grouped_mm_fallback_backward(Builder& b, const Call& c) {
  Node n;
  n.op = Op::grouped_matmul;
  n.inputs = {c.tensor("input"), c.tensor("weight"), c.tensor("offs")};
  Values r = apply_gradient_rule(b, n, {c.tensor("grad_output")}, {true, true, false});
  r.pop_back();  // offsets have no gradient
  return r;
}

Values grouped_mm(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), w = c.tensor("mat2"), bias = c.tensor_or_none("bias");
  const DType result = c.result_dtype();
  ValueId y = kNoValue;
  if (b.rank(x) == 3 && b.rank(w) == 3) {
    y = product(b, x, w, result);
  } else if (b.rank(x) == 2 && b.rank(w) == 3 && c.has_argument("offs")) {
    y = b.add(Op::grouped_matmul, {x, w, c.tensor("offs")}, {attr_dtype(result)});
  } else {
    c.unsupported("groups must be along the rows of the first matrix");
  }
  return {bias == kNoValue ? y : b.expr("y + bias", {{"y", y}, {"bias", bias}}, result)};
}

constexpr Lowering kProductLowerings[] = {
    {"aten.mm.default", mm},
    {"aten.smm.default", mm},
    {"aten._sparse_mm.default", sparse_mm},
    {"aten._sparse_addmm.default", addmm},
    {"aten.mm.dtype", mm},
    {"aten.bmm.default", mm},
    {"aten.bmm.dtype", mm},
    {"aten.matmul.default", matmul_other},
    {"aten.linalg_matmul.default", matmul_other},
    {"aten.mv.default", mv},
    {"aten.dot.default", dot},
    {"aten.vdot.default", vdot},
    {"aten.inner.default", inner},
    {"aten.outer.default", outer},
    {"aten.ger.default", outer},
    {"aten.addr.default", addr_product},
    {"aten.addmm.default", addmm},
    {"aten.addmm.dtype", addmm},
    {"aten.baddbmm.default", baddbmm},
    {"aten.baddbmm.dtype", baddbmm},
    {"aten.addbmm.default", addbmm},
    {"aten.addmv.default", addmv},
    {"aten._addmm_activation.default", addmm_activation},
    {"aten.linear.default", linear},
    {"aten.bilinear.default", bilinear},
    {"aten._grouped_mm.default", grouped_mm},
    {"transformers.grouped_mm_fallback.default", grouped_mm_fallback},
    {"transformers.grouped_mm_fallback_backward.default", grouped_mm_fallback_backward},
};

}  // namespace

std::span<const Lowering> product_lowerings() {
  return kProductLowerings;
}

}  // namespace tern
