// Lowerings of pooling, its inverse, and unfolding.
#include "exporter/gradients/apply_rule.h"
#include "exporter/lower/contraction.h"
#include "exporter/lower/movement.h"
#include "schema/kinds.h"
#include "schema/window_kinds.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;
using Sizes = std::vector<std::int64_t>;

Attr kind(PoolKind k) {
  return attr(AttrKey::kind, Dim(static_cast<std::int64_t>(k)));
}

Sizes repeated(const Call& c, ArgumentName name, std::size_t n) {
  Sizes v = c.integers(name);
  if (v.size() == 1) v.resize(n, v[0]);
  return v;
}

/// Attributes common to max and average pooling over `n` axes.
std::vector<Attr> window(const Call& c, std::size_t n) {
  const Sizes kernel = repeated(c, "kernel_size", n), strides = repeated(c, "stride", n);
  return {attr(AttrKey::kernel, kernel), attr(AttrKey::strides, strides.empty() ? kernel : strides),
          attr(AttrKey::before, repeated(c, "padding", n)),
          attr(AttrKey::ceil_mode, Dim(c.flag_or("ceil_mode", false) ? 1 : 0))};
}

template <std::size_t n>
Values max_pool_with_indices(Builder& b, const Call& c) {
  std::vector<Attr> attrs = window(c, n);
  attrs.push_back(kind(PoolKind::max));
  attrs.push_back(attr(AttrKey::dilations, repeated(c, "dilation", n)));
  return b.add_all(Op::pool, {c.tensor("self")}, std::move(attrs));
}
template <std::size_t n>
Values max_pool(Builder& b, const Call& c) {
  return {max_pool_with_indices<n>(b, c)[0]};
}

template <std::size_t n>
Values avg_pool(Builder& b, const Call& c) {
  std::vector<Attr> attrs = window(c, n);
  attrs.push_back(kind(PoolKind::avg));
  attrs.push_back(attr(AttrKey::count_pads, Dim(c.flag_or("count_include_pad", true) ? 1 : 0)));
  if (n > 1 && c.has_argument("divisor_override"))
    attrs.push_back(attr(AttrKey::divisor, Dim(c.integer("divisor_override"))));
  return {b.add(Op::pool, {c.tensor("self")}, std::move(attrs))};
}

template <std::size_t n>
Values adaptive(Builder& b, const Call& c, PoolKind k) {
  const ValueId x = c.tensor("self");
  Dims sizes = c.dims("output_size");
  if (sizes.size() == 1) sizes.resize(n, sizes[0]);
  if (sizes.size() != n) c.unsupported("a list's length differs from the number of spatial axes");
  return b.add_all(Op::adaptive_pool, {x}, {kind(k), attr(AttrKey::sizes, sizes)});
}
template <std::size_t n>
Values adaptive_avg_pool(Builder& b, const Call& c) {
  return adaptive<n>(b, c, PoolKind::avg);
}
template <std::size_t n>
Values adaptive_max_pool(Builder& b, const Call& c) {
  return adaptive<n>(b, c, PoolKind::max);
}

/// Writes `values` [..., spatial] into zeros [..., sizes] at the flat positions `indices` of each plane.
ValueId scatter_planes(Builder& b, ValueId values, ValueId indices, const Dims& sizes, std::size_t n) {
  Dims lead(b.shape(values).begin(), b.shape(values).end() - static_cast<std::ptrdiff_t>(n));
  const auto flat = [&](const Dims& spatial) {
    Dims d = lead;
    d.push_back(b.pool().product(spatial));
    return d;
  };
  const Dims spatial(b.shape(values).end() - static_cast<std::ptrdiff_t>(n), b.shape(values).end());
  const ValueId zeros = b.full(flat(sizes), 0.0, b.dtype(values));
  std::vector<Attr> attrs{attr(AttrKey::axis, Dim(static_cast<std::int64_t>(lead.size()))),
                          attr(AttrKey::kind, Dim(static_cast<std::int64_t>(ScatterKind::set)))};
  const ValueId r = b.add(Op::scatter, {zeros, b.reshape(indices, flat(spatial)), b.reshape(values, flat(spatial))},
                          std::move(attrs));
  Dims shape = lead;
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  return b.reshape(r, shape);
}

template <std::size_t n>
Values max_unpool(Builder& b, const Call& c) {
  return {scatter_planes(b, c.tensor("self"), c.tensor("indices"), c.dims("output_size"), n)};
}

template <std::size_t n>
Values max_pool_backward(Builder& b, const Call& c) {
  Node pool;
  pool.op = Op::pool;
  pool.inputs = {c.tensor("self")};
  pool.outputs = {kNoValue, c.tensor("indices")};
  pool.attrs = {kind(PoolKind::max), attr(AttrKey::kernel, Dims(n, 1))};
  return apply_gradient_rule(b, pool, {c.tensor("grad_output")});
}

template <std::size_t n>
Values fractional_max_pool(Builder& b, const Call& c) {
  ValueId x = c.tensor("self");
  const bool batched = b.rank(x) == static_cast<int>(n) + 2;
  if (!batched) x = b.unsqueeze(x, 0);
  Values r = b.add_all(
      Op::fractional_pool, {x, c.tensor("random_samples")},
      {attr(AttrKey::kernel, repeated(c, "kernel_size", n)), attr(AttrKey::sizes, repeated(c, "output_size", n))});
  if (!batched) {
    for (ValueId& v : r) v = b.squeeze(v, 0);
  }
  return r;
}

/// Takes the windows as a view of the padded input: [n, c, kh, kw, oh, ow].
Values im2col(Builder& b, const Call& c) {
  ValueId x = c.tensor("self");
  const bool batched = b.rank(x) == 4;
  if (!batched) x = b.unsqueeze(x, 0);
  const Sizes kernel = repeated(c, "kernel_size", 2), dilation = repeated(c, "dilation", 2),
              padding = repeated(c, "padding", 2), stride = repeated(c, "stride", 2);
  const Dims pads{0, 0, padding[0], padding[1]};
  x = b.pad(x, pads, pads);
  ExprPool& pool = b.pool();
  const Dims s = b.shape(x);
  const Dims strides = contiguous_strides(b, s);
  Dims sizes{s[0], s[1], kernel[0], kernel[1]},
      steps{strides[0], strides[1], pool.mul(dilation[0], strides[2]), pool.mul(dilation[1], strides[3])};
  Dim columns = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    if (stride[i] <= 0) c.unsupported("a stride must be positive");
    const Dim reach = pool.add(pool.mul(dilation[i], pool.sub(kernel[i], 1)), 1);
    const Dim windows = pool.add(pool.floordiv(pool.sub(s[i + 2], reach), stride[i]), 1);
    sizes.push_back(windows);
    steps.push_back(pool.mul(stride[i], strides[i + 2]));
    columns = pool.mul(columns, windows);
  }
  const ValueId windows = b.as_strided(x, sizes, steps, 0);
  const ValueId y = b.reshape(windows, {s[0], pool.mul(s[1], pool.mul(kernel[0], kernel[1])), columns});
  return {batched ? y : b.squeeze(y, 0)};
}

Values col2im(Builder& b, const Call& c) {
  ValueId x = c.tensor("self");
  const bool batched = b.rank(x) == 3;
  if (!batched) x = b.unsqueeze(x, 0);
  Dims sizes = c.dims("output_size");
  if (sizes.size() == 1) sizes.push_back(sizes[0]);
  const ValueId y =
      b.add(Op::fold, {x},
            {attr(AttrKey::sizes, sizes), attr(AttrKey::kernel, repeated(c, "kernel_size", 2)),
             attr(AttrKey::dilations, repeated(c, "dilation", 2)), attr(AttrKey::before, repeated(c, "padding", 2)),
             attr(AttrKey::strides, repeated(c, "stride", 2))});
  return {batched ? y : b.squeeze(y, 0)};
}

constexpr Lowering kPoolLowerings[] = {
    {"aten.max_pool1d.default", max_pool<1>},
    {"aten.max_pool2d.default", max_pool<2>},
    {"aten.max_pool3d.default", max_pool<3>},
    {"aten.max_pool1d_with_indices.default", max_pool_with_indices<1>},
    {"aten.max_pool2d_with_indices.default", max_pool_with_indices<2>},
    {"aten.max_pool3d_with_indices.default", max_pool_with_indices<3>},
    {"aten.max_pool2d_with_indices_backward.default", max_pool_backward<2>},
    {"aten.max_pool3d_with_indices_backward.default", max_pool_backward<3>},
    {"aten.adaptive_max_pool2d_backward.default", max_pool_backward<2>},
    {"aten.adaptive_max_pool3d_backward.default", max_pool_backward<3>},
    {"aten.fractional_max_pool2d_backward.default", max_pool_backward<2>},
    {"aten.fractional_max_pool3d_backward.default", max_pool_backward<3>},
    {"aten.avg_pool1d.default", avg_pool<1>},
    {"aten.avg_pool2d.default", avg_pool<2>},
    {"aten.avg_pool3d.default", avg_pool<3>},
    {"aten.adaptive_avg_pool1d.default", adaptive_avg_pool<1>},
    {"aten.adaptive_avg_pool2d.default", adaptive_avg_pool<2>},
    {"aten.adaptive_avg_pool3d.default", adaptive_avg_pool<3>},
    {"aten._adaptive_avg_pool2d.default", adaptive_avg_pool<2>},
    {"aten._adaptive_avg_pool3d.default", adaptive_avg_pool<3>},
    {"aten.adaptive_max_pool1d.default", adaptive_max_pool<1>},
    {"aten.adaptive_max_pool2d.default", adaptive_max_pool<2>},
    {"aten.adaptive_max_pool3d.default", adaptive_max_pool<3>},
    {"aten.max_unpool2d.default", max_unpool<2>},
    {"aten.max_unpool3d.default", max_unpool<3>},
    {"aten.fractional_max_pool2d.default", fractional_max_pool<2>},
    {"aten.fractional_max_pool3d.default", fractional_max_pool<3>},
    {"aten.im2col.default", im2col},
    {"aten.col2im.default", col2im},
};

}  // namespace

std::span<const Lowering> pool_lowerings() {
  return kPoolLowerings;
}

}  // namespace tern
