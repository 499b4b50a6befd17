// Gradients of convolution and pooling, as joint graphs hold them.

#include "exporter/gradients/averages.h"
#include "exporter/gradients/sliding.h"
#include "exporter/lower/gradients.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;
using Sizes = std::vector<std::int64_t>;

Sizes window_sizes(const Call& c, ArgumentName name, std::size_t n) {
  Sizes v = c.integers(name);
  if (v.size() == 1) v.assign(n, v[0]);
  if (v.size() != n) c.unsupported("argument '" + std::string(name.text()) + "' must have one value for each axis");
  return v;
}

Values convolution_gradient(Builder& b, const Call& c) {
  const ValueId grad = c.tensor("grad_output"), x = c.tensor("input"), w = c.tensor("weight");
  const auto n = static_cast<std::size_t>(b.rank(w) - 2);
  const Sizes padding = window_sizes(c, "padding", n);
  const Windows windows{window_sizes(c, "stride", n), window_sizes(c, "dilation", n), padding, padding,
                        c.integer("groups")};
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

template <std::size_t n>
Values avg_pool_gradient(Builder& b, const Call& c) {
  const ValueId grad = c.tensor("grad_output"), x = c.tensor("self");
  if (b.rank(x) < static_cast<int>(n) || b.rank(grad) != b.rank(x))
    c.unsupported("the image must have the axes of the windows");
  const Sizes kernel = window_sizes(c, "kernel_size", n), padding = window_sizes(c, "padding", n);
  const Windows windows{c.integers("stride").empty() ? kernel : window_sizes(c, "stride", n), Sizes(n, 1), padding,
                        padding};
  std::optional<double> divisor;
  if (c.has_argument("divisor_override")) divisor = c.number("divisor_override");
  const ValueId g = average_gradient(b, grad, b.shape(x), windows, Dims(kernel.begin(), kernel.end()),
                                     c.flag("count_include_pad"), divisor);
  return {b.cast(g, b.dtype(x))};
}

template <std::size_t n>
Values adaptive_avg_pool_gradient(Builder& b, const Call& c) {
  const ValueId grad = c.tensor("grad_output"), x = c.tensor("self");
  if (b.rank(x) < static_cast<int>(n) || b.rank(grad) != b.rank(x))
    c.unsupported("the image must have the axes of the windows");
  return {b.cast(adaptive_average_gradient(b, grad, b.shape(x), n), b.dtype(x))};
}

constexpr Lowering kWindowGradientsLowerings[] = {
    {"aten.convolution_backward.default", convolution_gradient},
    {"aten.avg_pool2d_backward.default", avg_pool_gradient<2>},
    {"aten.avg_pool3d_backward.default", avg_pool_gradient<3>},
    {"aten._adaptive_avg_pool2d_backward.default", adaptive_avg_pool_gradient<2>},
    {"aten._adaptive_avg_pool3d_backward.default", adaptive_avg_pool_gradient<3>},
};

}  // namespace

std::span<const Lowering> window_gradient_lowerings() {
  return kWindowGradientsLowerings;
}

}  // namespace tern
