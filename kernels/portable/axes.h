// A tensor's axes in two groups: axes kept by results, and axes processed along.
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
/// Removes axes of a single element, and merges contiguous axes.
std::vector<Axis> collapse(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);

/// Reciprocal for dividing in texts: n / size for n below 2^31 is n * (low 32 bits) >> (high 32 bits), in 64 bits.
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
  void declare(KernelSource& s, const std::string& name) const { s.view(name, sizes, strides); }
};

/// `kept` and `reduced` of an op with attribute `axes` (none: all are reduced).
struct SplitAxes {
  Axes retained, reduced;
};
SplitAxes split_axes(const TensorView& x, const Dims& axes);

/// All axes except one.
Axes axes_without(const TensorView& x, int axis);

/// The axis attribute, counted from 0.
inline int axis_of(const Node& node, int rank, AttrKey key = AttrKey::axis) {
  const std::int64_t a = node.integer(key);
  return static_cast<int>(a < 0 ? a + rank : a);
}

/// `v`, or a line of a single element if `v` has no axes.
TensorView as_line(const TensorView& v);

/// `v` with the sizes of `out`: repeating axes have stride 0.
TensorView broadcast(const TensorView& v, const TensorView& out);

}  // namespace tern::portable
