// The matrix of windows of an image: a row for each window element, a column for each window position.
#pragma once

#include "kernels/cpu/windows/window.h"

namespace tern::cpu {

/// Calls f(row, kd, kh, kw) for the rows of the matrix of windows of one channel.
template <class F>
void for_each_element(const Window& w, F&& f) {
  std::int64_t row = 0;
  for (std::int64_t d = 0; d < w[0].kernel; ++d) {
    for (std::int64_t h = 0; h < w[1].kernel; ++h) {
      for (std::int64_t k = 0; k < w[2].kernel; ++k) f(row++, d, h, k);
    }
  }
}

/// Visits one row (window element) of the matrix of windows of one channel: the image elements, output line by output
/// line.
template <class F>
void for_each_line(const Window& w, std::int64_t d, std::int64_t h, std::int64_t begin, std::int64_t end, F&& f) {
  for (std::int64_t od = 0; od < w[0].out; ++od) {
    const std::int64_t id = w[0].position(od, d);
    for (std::int64_t oh = 0; oh < w[1].out; ++oh) {
      const std::int64_t line = od * w[1].out + oh;
      if (line < begin || line >= end) continue;
      const std::int64_t ih = w[1].position(oh, h);
      const bool inside = id >= 0 && id < w[0].in && ih >= 0 && ih < w[1].in;
      f(line, inside ? (id * w[1].in + ih) * w[2].in : -1);
    }
  }
}

}  // namespace tern::cpu
