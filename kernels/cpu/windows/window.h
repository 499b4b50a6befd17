// The geometry of windows over up to three spatial axes, as convolution, fold and pooling share it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/kernel.h"

namespace tern::cpu {

/// One spatial axis of a window operation. Input position of element k of window i: i * stride + k * dilation - before.
struct WindowAxis {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, before = 0;

  std::int64_t position(std::int64_t window, std::int64_t element) const {
    return window * stride + element * dilation - before;
  }
};

/// Always three axes; missing ones come first and have size 1.
using Window = std::array<WindowAxis, 3>;

inline std::int64_t plane(const Window& w, std::int64_t WindowAxis::*size) {
  return w[0].*size * (w[1].*size) * (w[2].*size);
}

/// The windows i in [begin, end) for which element k lies inside the input.
inline void windows_inside(const WindowAxis& a, std::int64_t k, std::int64_t* begin, std::int64_t* end) {
  const std::int64_t at = k * a.dilation - a.before;  // position(i, k) = i * stride + at
  *begin = at >= 0 ? 0 : std::min(a.out, (-at + a.stride - 1) / a.stride);
  *end = a.in <= at ? 0 : std::min(a.out, (a.in - 1 - at) / a.stride + 1);
  *end = std::max(*begin, *end);
}

/// The elements k in [begin, end) of a window that lie inside the input.
inline void elements_inside(const WindowAxis& a, std::int64_t window, std::int64_t* begin, std::int64_t* end) {
  const std::int64_t start = a.position(window, 0);
  *begin = start >= 0 ? 0 : (-start + a.dilation - 1) / a.dilation;
  *end = start >= a.in ? 0 : std::min(a.kernel, (a.in - 1 - start) / a.dilation + 1);
}

/// Every window is one element of the image, in order, and every element is a window.
inline bool is_every_position(const Window& w) {
  return std::ranges::all_of(
      w, [](const WindowAxis& a) { return a.kernel == 1 && a.stride == 1 && a.before == 0 && a.in == a.out; });
}

}  // namespace tern::cpu
