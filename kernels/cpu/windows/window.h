// Geometry of windows over up to three spatial axes, shared by convolution, fold and pooling.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/kernel.h"

namespace tern::cpu {

/// A spatial axis of a window operation. Element k of window i reads input position i * stride + k * dilation - before.
struct WindowAxis {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, padding_before = 0;

  std::int64_t position(std::int64_t window, std::int64_t element) const {
    return window * stride + element * dilation - padding_before;
  }
};

/// Always three axes; missing axes come first and have size 1.
using Window = std::array<WindowAxis, 3>;

inline std::int64_t plane(const Window& w, std::int64_t WindowAxis::*size) {
  return w[0].*size * (w[1].*size) * (w[2].*size);
}

/// Finds the windows i in [begin, end) with element k inside the input.
inline void windows_inside(const WindowAxis& a, std::int64_t k, std::int64_t* begin, std::int64_t* end) {
  const std::int64_t at = k * a.dilation - a.padding_before;  // position(i, k) = i * stride + at
  *begin = at >= 0 ? 0 : std::min(a.out, (-at + a.stride - 1) / a.stride);
  *end = a.in <= at ? 0 : std::min(a.out, (a.in - 1 - at) / a.stride + 1);
  *end = std::max(*begin, *end);
}

/// Finds the elements k in [begin, end) of a window inside the input.
inline void elements_inside(const WindowAxis& a, std::int64_t window, std::int64_t* begin, std::int64_t* end) {
  const std::int64_t start = a.position(window, 0);
  *begin = start >= 0 ? 0 : (-start + a.dilation - 1) / a.dilation;
  *end = start >= a.in ? 0 : std::min(a.kernel, (a.in - 1 - start) / a.dilation + 1);
}

/// True if windows and image elements correspond one to one, in order.
inline bool is_every_position(const Window& w) {
  return std::ranges::all_of(
      w, [](const WindowAxis& a) { return a.kernel == 1 && a.stride == 1 && a.padding_before == 0 && a.in == a.out; });
}

}  // namespace tern::cpu
