// Lowerings of cov and corrcoef.
#include "exporter/lower/contraction.h"
#include "exporter/lower/reduction.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// Drops the axes of size 1 of a square matrix.
ValueId squeezed(Builder& b, ValueId x) {
  Dims shape = b.shape(x);
  std::erase_if(shape, [](Dim d) { return d.is(1); });
  return b.reshape(x, shape);
}

/// Covariance of the variables in the rows of x.
ValueId covariance(Builder& b, const Call& c, ValueId x, double correction, ValueId weights, ValueId importance) {
  const DType t = c.result_dtype(), real = t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t;
  x = b.cast(b.rank(x) < 2 ? b.reshape(x, {1, b.numel(x)}) : x, t);
  if (b.rank(x) != 2) c.unsupported("the tensor has more than two dimensions");
  ValueId w = weights == kNoValue ? importance : weights;
  if (weights != kNoValue && importance != kNoValue) {
    w = b.expr("f * a", {{"f", weights}, {"a", importance}}, real);
  }
  const auto total = [&](ValueId v, std::vector<std::int64_t> axes, bool keepdims) {
    return b.reduce(v, "sum", axes, keepdims, b.dtype(v));
  };
  ValueId norm, mean;
  if (w == kNoValue) {
    norm = b.expr("max(n - k, 0)", {{"k", correction}, size_arg(b, "n", b.size(x, 1))}, real);
    mean = b.reduce(x, "mean", {1}, true, t);
  } else {
    w = b.cast(w, real);
    const ValueId sum = total(w, {0}, false);
    mean = b.expr("s / n", {{"s", total(b.expr("x * w", {{"x", x}, {"w", w}}, t), {1}, true)}, {"n", sum}}, t);
    if (importance == kNoValue) {
      norm = b.expr("max(n - k, 0)", {{"n", sum}, {"k", correction}}, real);
    } else {
      const ValueId squares = total(b.expr("w * a", {{"w", w}, {"a", importance}}, real), {0}, false);
      norm = b.expr("max(n - k * s / n, 0)", {{"n", sum}, {"s", squares}, {"k", correction}}, real);
    }
  }
  x = b.expr("x - m", {{"x", x}, {"m", mean}}, t);
  ValueId right = w == kNoValue ? x : b.expr("x * w", {{"x", x}, {"w", w}}, t);
  if (is_complex(t)) right = b.expr("conj(x)", {{"x", right}}, t);
  const ValueId sums = product(b, x, b.transpose(right, 0, 1));
  return b.expr("s / n", {{"s", sums}, {"n", norm}}, t);
}

Values cov(Builder& b, const Call& c) {
  return {squeezed(b, covariance(b, c, c.tensor("self"), c.number_or("correction", 1), c.tensor_or_none("fweights"),
                                 c.tensor_or_none("aweights")))};
}

/// The covariance divided by both deviations, and brought within -1 and 1.
Values corrcoef(Builder& b, const Call& c) {
  const ValueId covariances = covariance(b, c, c.tensor("self"), 1, kNoValue, kNoValue);
  const DType t = b.dtype(covariances);
  if (b.size(covariances, 0).is(1)) return {squeezed(b, b.expr("c / c", {{"c", covariances}}, t))};
  const Dim n = b.size(covariances, 0);
  const ValueId variances = b.as_strided(covariances, {n}, {b.pool().add(n, 1)}, 0);
  const ValueId deviation = b.expr("sqrt(v)", {{"v", variances}}, t);
  const ValueId r =
      b.expr("c / r / d", {{"c", covariances}, {"r", b.unsqueeze(deviation, 1)}, {"d", b.unsqueeze(deviation, 0)}}, t);
  const char* clamp =
      is_complex(t) ? "complex(min(max(real(r), -1), 1), min(max(imag(r), -1), 1))" : "r < -1 ? -1 : r > 1 ? 1 : r";
  return {squeezed(b, b.expr(clamp, {{"r", r}}, t))};
}

constexpr Lowering kCovarianceLowerings[] = {
    {"aten.cov.default", cov},
    {"aten.corrcoef.default", corrcoef},
};

}  // namespace

std::span<const Lowering> covariance_lowerings() {
  return kCovarianceLowerings;
}

}  // namespace tern
