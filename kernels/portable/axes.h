// A tensor's axes in two groups: those that results keep, and those that are worked along.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/portable/source.h"

namespace tern::portable {

struct Axis {
  std::int64_t size, stride;
};
/// Without axes of one element, and with axes merged that lie one after the other.
std::vector<Axis> collapse(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);

/// n / size of n below 2^31 is n * (low 32 bits of this) >> (its high 32 bits), in 64 bits: texts divide so.
std::int64_t inverse_of(std::int64_t size);

struct Axes {
  std::vector<std::int64_t> sizes, strides;
  std::int64_t count = 1;
  void add(std::int64_t size, std::int64_t stride) {
    sizes.push_back(size);
    strides.push_back(stride);
    count *= size;
  }
  /// at_NAME of the text.
  void declare(Source& s, const std::string& name) const { s.view(name, sizes, strides); }
};

/// `kept` and `reduced` of an op with attribute `axes` (none: all are reduced).
struct SplitAxes {
  Axes kept, reduced;
};
SplitAxes split_axes(const TensorView& x, const Dims& axes);

/// Those but one.
Axes axes_without(const TensorView& x, int axis);

/// The axis attribute, from 0.
inline int axis_of(const Node& node, int rank, AttrKey key = AttrKey::axis) {
  const std::int64_t a = node.integer(key);
  return static_cast<int>(a < 0 ? a + rank : a);
}

/// `v`, or a line of one element where it has no axes.
TensorView as_line(const TensorView& v);

/// `v` with the sizes of `out`: axes that repeat have stride 0.
TensorView broadcast(const TensorView& v, const TensorView& out);

}  // namespace tern::portable
