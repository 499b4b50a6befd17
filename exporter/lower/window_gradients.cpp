// Gradients of convolution and pooling, made of convolutions, fold and products with small matrices.
#include <algorithm>

#include "exporter/gradients/sliding.h"
#include "exporter/lower/gradients.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;
using Sizes = std::vector<std::int64_t>;

Sizes for_axes(const Call& c, ArgumentName name, std::size_t n) {
  Sizes v = c.integers(name);
  if (v.size() == 1) v.assign(n, v[0]);
  if (v.size() != n)
    c.unsupported("argument '" + std::string(name.text()) + "' has another length than there are axes");
  return v;
}

std::int64_t constant_size(Builder& b, const Call& c, ValueId v, std::int64_t axis) {
  const Dim d = b.size(v, axis);
  if (!d.is_const()) c.unsupported("symbolic sizes along the windows");
  return d.value();
}

Values convolution(Builder& b, const Call& c) {
  const ValueId grad = c.tensor("grad_output"), x = c.tensor("input"), w = c.tensor("weight");
  const auto n = static_cast<std::size_t>(b.rank(w) - 2);
  const Sizes padding = for_axes(c, "padding", n);
  const Windows windows{for_axes(c, "stride", n), for_axes(c, "dilation", n), padding, padding, c.integer("groups")};
  const Dims sizes(b.shape(x).begin() + 2, b.shape(x).end()), kernel(b.shape(w).begin() + 2, b.shape(w).end());
  const bool transposed = c.flag("transposed");
  const Dims mask = c.dims("output_mask");
  Values r = {kNoValue, kNoValue, kNoValue};
  if (mask.at(0).is(1)) {
    r[0] =
        transposed ? transposed_image_gradient(b, grad, w, windows, sizes) : image_gradient(b, grad, w, windows, sizes);
  }
  if (mask.at(1).is(1)) {
    r[1] = transposed ? weight_gradient(b, grad, x, kernel, windows) : weight_gradient(b, x, grad, kernel, windows);
  }
  if (mask.at(2).is(1)) {
    Sizes axes = b.all_axes(grad);
    axes.erase(axes.begin() + 1);
    r[2] = b.reduce(grad, "sum", axes, false, b.dtype(grad));
  }
  return r;
}

/// How many elements each window of one axis divides by.
ValueId window_lengths(Builder& b, Dim windows, std::int64_t input, std::int64_t kernel, std::int64_t stride,
                       std::int64_t padding, bool count_pads, DType t) {
  return b.expr(
      count_pads ? "s = i * d - p; min(s + k, n + p) - s" : "s = i * d - p; min(min(s + k, n + p), n) - max(s, 0)",
      {{"i", b.iota(windows, DType::i64)},
       {"d", static_cast<double>(stride)},
       {"p", static_cast<double>(padding)},
       {"k", static_cast<double>(kernel)},
       {"n", static_cast<double>(input)}},
      DType::i64, t);
}

Values avg_pool2d(Builder& b, const Call& c) {
  ValueId grad = c.tensor("grad_output");
  const ValueId x = c.tensor("self");
  const Dims shape = b.shape(x);
  const DType t = b.dtype(x), wide = compute_type(t);
  const Sizes kernel = for_axes(c, "kernel_size", 2), padding = for_axes(c, "padding", 2);
  const Sizes stride = c.integers("stride").empty() ? kernel : for_axes(c, "stride", 2);
  if (b.rank(x) == 3) grad = b.unsqueeze(grad, 0);
  const Dims out = b.shape(grad);
  Dims covered;  // what the windows reach: with ceil_mode more than x, else up to a stride less
  ValueId divisor = b.full({}, c.number_or("divisor_override", 1), wide);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t size = constant_size(b, c, x, static_cast<std::int64_t>(i) - 2);
    ExprPool& pool = b.pool();  // all constants, but they may overflow
    const Dim steps = pool.mul(pool.sub(constant_size(b, c, grad, static_cast<std::int64_t>(i) + 2), 1), stride[i]);
    covered.push_back(pool.sub(pool.add(steps, kernel[i]), pool.mul(2, padding[i])).value());
    if (c.has("divisor_override")) continue;
    ValueId lengths =
        window_lengths(b, out[i + 2], size, kernel[i], stride[i], padding[i], c.flag("count_include_pad"), wide);
    if (i == 0) lengths = b.reshape(lengths, {out[2], 1});
    divisor = b.expr("d * l", {{"d", divisor}, {"l", lengths}}, wide);
  }
  const ValueId each = b.expr("g / d", {{"g", grad}, {"d", divisor}}, t);
  ExprPool& pool = b.pool();
  const Dim columns = pool.mul(out[2], out[3]);
  const ValueId spread = b.expand(b.reshape(each, {out[0], out[1], 1, columns}),
                                  {out[0], out[1], pool.mul(kernel[0], kernel[1]), columns});
  ValueId y =
      b.add(Op::fold, {b.reshape(spread, {out[0], pool.mul(out[1], pool.mul(kernel[0], kernel[1])), columns})},
            {attr(AttrKey::sizes, covered), attr(AttrKey::kernel, kernel), attr(AttrKey::dilations, Sizes{1, 1}),
             attr(AttrKey::before, padding), attr(AttrKey::strides, stride)});
  y = b.pad(y, {0, 0, 0, 0}, {0, 0, pool.sub(b.size(x, -2), covered[0]), pool.sub(b.size(x, -1), covered[1])});
  return {b.reshape(y, shape)};
}

/// [out, in]: the share of each input element in each window of an adaptive average.
ValueId adaptive_shares(Builder& b, std::int64_t out, std::int64_t in, DType t) {
  const ValueId o = b.reshape(b.iota(out, DType::i64), {out, 1}), i = b.iota(in, DType::i64);
  const std::vector<ExprArg> args = {
      {"o", o}, {"i", i}, {"n", static_cast<double>(in)}, {"m", static_cast<double>(out)}};
  const ValueId inside =
      b.expr("i >= floordiv(o * n, m) && i < floordiv((o + 1) * n + m - 1, m)", args, DType::i64, DType::boolean);
  const ValueId length =
      b.expr("floordiv((o + 1) * n + m - 1, m) - floordiv(o * n, m) + i * 0", args, DType::i64, DType::i64);
  return b.expr("s ? 1 / l : 0", {{"s", inside}, {"l", length}}, compute_type(t), t);
}
Values adaptive_avg_pool2d(Builder& b, const Call& c) {
  const ValueId grad = c.tensor("grad_output"), x = c.tensor("self");
  const DType t = b.dtype(x);
  const auto size = [&](ValueId v, std::int64_t axis) { return constant_size(b, c, v, axis); };
  const ValueId rows = adaptive_shares(b, size(grad, -2), size(x, -2), t),
                columns = adaptive_shares(b, size(grad, -1), size(x, -1), t);
  return {b.matmul(b.transpose(rows, 0, 1), b.matmul(grad, columns))};
}

constexpr Lowering kTable[] = {
    {"aten.convolution_backward.default", convolution},
    {"aten.avg_pool2d_backward.default", avg_pool2d},
    {"aten._adaptive_avg_pool2d_backward.default", adaptive_avg_pool2d},
};

}  // namespace

std::span<const Lowering> window_gradient_lowerings() {
  return kTable;
}

}  // namespace tern
