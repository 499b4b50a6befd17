#include "kernels/cpu/planes/layout.h"

namespace tern::planes {
namespace {

using cpu::WindowAxis;

constexpr std::int64_t kWidest = 1 << 17;  // floats of the narrowest band

/// Returns the distance between the first and last window elements of an axis.
std::int64_t extent(const WindowAxis& a) {
  return (a.kernel - 1) * a.dilation;
}

/// Sets the fields derived from the number of output rows.
void set_rows(Bands& b, const WindowAxis& h, std::int64_t rows) {
  PaddedPlaneLayout& l = b.layout;
  b.rows = rows;
  b.count = (h.out + rows - 1) / rows;
  l.rows = rows + extent(h) / h.stride;
  l.phase = l.rows * l.pitch + std::max<std::int64_t>(0, l.reach - l.pitch);
  l.is_whole_plane = b.count == 1;
  b.channel = l.phase * l.phases_h * l.phases_w;
}

}  // namespace

bool has_bands(const cpu::Window& window, std::int64_t planes) {
  const auto& [d, h, w] = window;
  if (d.in != 1 || d.out != 1 || d.kernel != 1 || d.padding_before != 0) return false;
  for (const WindowAxis& a : {h, w}) {
    const auto fits = [](std::int64_t n) { return n >= 0 && n <= kWidest; };
    if (a.in == 0 || a.out == 0 || !fits(a.in) || !fits(a.out) || !fits(a.padding_before)) return false;
    if (!fits(a.kernel) || !fits(a.dilation) || !fits(extent(a))) return false;
  }
  return bands_of(h, w, planes, 0, h.out).channel * planes <= kWidest;
}

Bands bands_of(const WindowAxis& h, const WindowAxis& w, std::int64_t planes, std::int64_t floats, std::int64_t parts) {
  Bands b;
  PaddedPlaneLayout& l = b.layout;
  l.input_height = h.in;
  l.input_width = w.in;
  l.padding_top = h.padding_before;
  l.padding_left = w.padding_before;
  l.stride_h = h.stride;
  l.stride_w = w.stride;
  l.phases_h = std::min(h.stride, extent(h) + 1);
  l.phases_w = std::min(w.stride, extent(w) + 1);
  l.reach = w.out + extent(w) / w.stride;
  // Consecutive rows share padding: the end of a row is the start of the next.
  const std::int64_t lead = w.padding_before / w.stride,
                     trail = std::max<std::int64_t>(0, l.reach - (w.padding_before + w.in + w.stride - 1) / w.stride);
  l.pitch = std::max(w.out, l.reach - std::min(lead, trail));
  const std::int64_t line = l.pitch * l.phases_h * l.phases_w * planes;
  const std::int64_t fit = std::max<std::int64_t>(1, floats / std::max<std::int64_t>(1, line) - extent(h) / h.stride);
  const std::int64_t count = std::clamp<std::int64_t>(std::max((h.out + fit - 1) / fit, parts), 1, h.out);
  set_rows(b, h, (h.out + count - 1) / count);
  return b;
}

std::vector<std::int64_t> taps_of(const Bands& b, const WindowAxis& h, const WindowAxis& w, std::int64_t planes) {
  const PaddedPlaneLayout& l = b.layout;
  std::vector<std::int64_t> taps;
  taps.reserve(static_cast<std::size_t>(planes * h.kernel * w.kernel));
  for (std::int64_t p = 0; p < planes; ++p) {
    for (std::int64_t i = 0; i < h.kernel; ++i) {
      const std::int64_t row = i * h.dilation;
      for (std::int64_t j = 0; j < w.kernel; ++j) {
        const std::int64_t column = j * w.dilation;
        const std::int64_t phase = row % h.stride * l.phases_w + column % w.stride;
        taps.push_back(p * b.channel + phase * l.phase + row / h.stride * l.pitch + column / w.stride);
      }
    }
  }
  return taps;
}

std::vector<ColumnTaps> columns_of(const Bands& b, const WindowAxis& h, const WindowAxis& w) {
  const PaddedPlaneLayout& l = b.layout;
  std::vector<ColumnTaps> taps;
  if (h.dilation != 1 || (h.kernel + h.stride - 1) / h.stride > kMostRows) return taps;
  for (std::int64_t j = 0; j < w.kernel; ++j) {
    const std::int64_t column = j * w.dilation;
    for (std::int64_t p = 0; p < l.phases_h; ++p) {
      const std::int64_t phase = p * l.phases_w + column % w.stride;
      taps.push_back({phase * l.phase + column / w.stride, (h.kernel - p + h.stride - 1) / h.stride, p * w.kernel + j,
                      h.stride * w.kernel});
    }
  }
  return taps;
}

}  // namespace tern::planes
