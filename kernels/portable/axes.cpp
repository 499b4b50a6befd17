#include "kernels/portable/axes.h"

#include <algorithm>

namespace tern::portable {

SplitAxes split_axes(const TensorView& x, const Dims& axes) {
  SplitAxes split;
  for (int i = 0; i < x.rank; ++i) {
    const bool reduced = axes.empty() || std::ranges::any_of(axes, [&](Dim a) {
                           return (a.value() < 0 ? a.value() + x.rank : a.value()) == i;
                         });
    (reduced ? split.reduced : split.kept).add(x.size(i), x.stride(i));
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
