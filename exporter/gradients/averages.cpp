#include "exporter/gradients/averages.h"

#include "exporter/lower/reduction.h"

namespace tern {
namespace {

/// Reshapes `v`, one number per position along `axis`, to broadcast over the other of `rank` axes.
ValueId along(Builder& b, ValueId v, std::size_t axis, std::size_t rank) {
  Dims sizes(rank, 1);
  sizes[axis] = b.size(v, 0);
  return b.reshape(v, sizes);
}

/// Element count of each window along one axis, the divisor of the average.
ValueId window_lengths(Builder& b, Dim windows, Dim input, std::int64_t kernel, std::int64_t stride,
                       std::int64_t padding, bool count_pads, DType t) {
  return b.expr(
      count_pads ? "s = i * d - p; min(s + k, n + p) - s" : "s = i * d - p; min(min(s + k, n + p), n) - max(s, 0)",
      {{"i", b.iota(windows, DType::i64)},
       {"d", static_cast<double>(stride)},
       {"p", static_cast<double>(padding)},
       {"k", static_cast<double>(kernel)},
       size_arg(b, "n", input)},
      DType::i64, t);
}

/// [out, in]: the share of each input element in each window of an adaptive average.
ValueId adaptive_shares(Builder& b, Dim output_size, Dim input_size, DType t) {
  const std::vector<ExprArg> args = {{"o", b.reshape(b.iota(output_size, DType::i64), {output_size, 1})},
                                     {"i", b.iota(input_size, DType::i64)},
                                     size_arg(b, "n", input_size),
                                     size_arg(b, "m", output_size)};
  const ValueId inside =
      b.expr("i >= floordiv(o * n, m) && i < floordiv((o + 1) * n + m - 1, m)", args, DType::i64, DType::boolean);
  const ValueId length =
      b.expr("floordiv((o + 1) * n + m - 1, m) - floordiv(o * n, m) + i * 0", args, DType::i64, DType::i64);
  return b.expr("s ? 1 / l : 0", {{"s", inside}, {"l", length}}, t);
}

}  // namespace

ValueId average_gradient(Builder& b, ValueId g, Dims shape, const Windows& w, const Dims& kernel, bool count_pads,
                         std::optional<double> divisor) {
  const std::size_t n = kernel.size(), rank = shape.size(), lead = rank - n;
  const DType compute_dtype = compute_type(b.dtype(g));
  ValueId element_gradient = b.cast(g, compute_dtype);
  if (divisor) element_gradient = b.expr("g / d", {{"g", element_gradient}, {"d", *divisor}}, compute_dtype);
  for (std::size_t i = 0; i < n && !divisor; ++i) {
    const ValueId lengths = window_lengths(b, b.shape(element_gradient)[lead + i], shape[lead + i], kernel[i].value(),
                                           w.strides[i], w.padding_before[i], count_pads, compute_dtype);
    element_gradient =
        b.expr("g / d", {{"g", element_gradient}, {"d", along(b, lengths, lead + i, rank)}}, compute_dtype);
  }
  const Dims windows = b.shape(element_gradient);
  const auto index = static_cast<std::ptrdiff_t>(lead);
  Dims gradient_shape = {b.pool().product(std::span<const Dim>(shape).first(lead)), 1}, kernel_shape = {1, 1};
  gradient_shape.insert(gradient_shape.end(), windows.begin() + index, windows.end());
  kernel_shape.insert(kernel_shape.end(), kernel.begin(), kernel.end());
  const ValueId y = image_gradient(b, b.reshape(element_gradient, gradient_shape),
                                   b.full(kernel_shape, 1, compute_dtype), w, Dims(shape.begin() + index, shape.end()));
  return b.reshape(y, shape);
}

ValueId adaptive_average_gradient(Builder& b, ValueId g, Dims shape, std::size_t n) {
  const DType compute_dtype = compute_type(b.dtype(g));
  g = b.cast(g, compute_dtype);
  for (std::size_t i = 0; i < n; ++i) {
    const auto axis = static_cast<std::int64_t>(shape.size() - 1 - i);
    const ValueId shares = adaptive_shares(b, b.size(g, axis), shape[shape.size() - 1 - i], compute_dtype);
    // Vectors have a single axis; a product needs two.
    const bool vector = b.rank(g) == 1;
    ValueId y = vector ? b.unsqueeze(g, 0) : b.move_axis(g, axis, -1);
    y = b.matmul(y, shares);
    g = vector ? b.squeeze(y, 0) : b.move_axis(y, -1, axis);
  }
  return g;
}

}  // namespace tern
