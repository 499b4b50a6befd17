#include "kernels/portable/axes.h"

#include <algorithm>
#include <bit>

namespace tern::portable {

std::vector<Axis> collapse(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    if (!axes.empty() && axes.back().stride == strides[i] * sizes[i]) {
      axes.back() = {axes.back().size * sizes[i], strides[i]};
    } else {
      axes.push_back({sizes[i], strides[i]});
    }
  }
  return axes;
}

std::int64_t inverse_of(std::int64_t size) {
  const auto d = static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
  const auto shift = static_cast<std::uint64_t>(31 + std::bit_width(d - 1));
  return static_cast<std::int64_t>(shift << 32 | ((std::uint64_t{1} << shift) + d - 1) / d);
}

SplitAxes split_axes(const TensorView& x, const Dims& axes) {
  SplitAxes split;
  for (int i = 0; i < x.rank; ++i) {
    const bool reduced = axes.empty() || std::ranges::any_of(axes, [&](Dim a) {
                           return (a.value() < 0 ? a.value() + x.rank : a.value()) == i;
                         });
    (reduced ? split.reduced : split.retained).add(x.size(i), x.stride(i));
  }
  return split;
}

Axes axes_without(const TensorView& x, int axis) {
  Axes axes;
  for (int i = 0; i < x.rank; ++i) {
    if (i != axis) axes.add(x.size(i), x.stride(i));
  }
  return axes;
}

TensorView as_line(const TensorView& v) {
  TensorView line = v;
  if (v.rank > 0) return line;
  line.rank = 1;
  line.sizes[0] = line.strides[0] = 1;
  return line;
}

TensorView broadcast(const TensorView& v, const TensorView& out) {
  TensorView b = out;
  const int skip = out.rank - v.rank;
  for (int i = 0; i < out.rank; ++i) {
    const bool repeats = i < skip || v.size(i - skip) == 1;
    b.strides[static_cast<std::size_t>(i)] = repeats ? 0 : v.stride(i - skip);
  }
  return b;
}

}  // namespace tern::portable
