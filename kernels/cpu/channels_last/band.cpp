#include "kernels/cpu/channels_last/band.h"

#include <algorithm>

namespace tern::channels_last {
namespace {

using cpu::WindowAxis;

/// Returns the number of elements of an axis covered by the first `windows` windows.
std::int64_t reach(const WindowAxis& a, std::int64_t windows) {
  return a.position(windows - 1, a.kernel - 1) - a.position(0, 0) + 1;
}

}  // namespace

bool is_inside(const cpu::Window& w) {
  return std::ranges::all_of(
      w, [](const WindowAxis& a) { return a.position(0, 0) >= 0 && a.position(a.out - 1, a.kernel - 1) < a.in; });
}

Band::Band(const Image& image, bool whole, float fill, float* buffer, std::int64_t lines)
    : image_(image), is_full_width_(whole), fill_(fill), buffer_(buffer) {
  const auto& [d, h, w] = image.window;
  position_ = whole ? image.pitch : image.channels;
  line_ = position_ * (whole ? w.in : reach(w, w.out));
  slice_ = line_ * (whole ? h.in : reach(h, lines));
  step_ = position_ * w.stride;
  for (std::int64_t k = 0; k < d.kernel; ++k) {
    for (std::int64_t i = 0; i < h.kernel; ++i) {
      for (std::int64_t j = 0; j < w.kernel; ++j)
        taps_.push_back(k * d.dilation * slice_ + i * h.dilation * line_ + j * w.dilation * position_);
    }
  }
}

std::int64_t Band::floats(const Image& image, std::int64_t lines, std::int64_t slices) {
  const auto& [d, h, w] = image.window;
  return image.channels * reach(w, w.out) * reach(h, lines) * reach(d, slices);
}

void Band::load(const float* image, const BandPart& part) {
  const auto& [d, h, w] = image_.window;
  first_line_ = part.begin;
  const std::int64_t first = d.position(part.first_slice, 0), size = h.in * w.in * image_.pitch;
  if (is_full_width_) {
    data_ = image;
    offset_ = first * slice_ + h.position(part.begin, 0) * line_ + w.position(0, 0) * position_;
    return;
  }
  data_ = buffer_;
  offset_ = 0;
  const std::int64_t slices = reach(d, part.last_slice - part.first_slice);
  for (std::int64_t i = 0; i < slices; ++i) {
    float* to = buffer_ + i * slice_;
    if (first + i >= 0 && first + i < d.in) {
      load_slice(image + (first + i) * size, part.begin, part.end, to);
    } else {
      std::fill_n(to, reach(h, part.end - part.begin) * line_, fill_);
    }
  }
}

void Band::load_slice(const float* image, std::int64_t begin, std::int64_t end, float* to) const {
  const WindowAxis &h = image_.window[1], &w = image_.window[2];
  // A negative padding skips elements of the image.
  const std::int64_t channels = image_.channels, count = reach(w, w.out),
                     left = std::clamp<std::int64_t>(w.padding_before, 0, count),
                     skipped = std::clamp<std::int64_t>(-w.padding_before, 0, w.in),
                     inside = std::clamp<std::int64_t>(count - left, 0, w.in - skipped);
  const bool dense = image_.pitch == channels;
  for (std::int64_t i = 0; i < reach(h, end - begin); ++i, to += line_) {
    const std::int64_t at = h.position(begin, 0) + i;
    if (at < 0 || at >= h.in) {
      std::fill_n(to, line_, fill_);
      continue;
    }
    const float* from = image + (at * w.in + skipped) * image_.pitch;
    std::fill_n(to, left * channels, fill_);
    float* next = to + left * channels;
    if (dense) {
      next = std::copy_n(from, inside * channels, next);
    } else {
      for (std::int64_t j = 0; j < inside; ++j) next = std::copy_n(from + j * image_.pitch, channels, next);
    }
    std::fill(next, to + line_, fill_);
  }
}

const float* Band::element(std::int64_t slice, std::int64_t line, std::ptrdiff_t tap) const {
  const WindowAxis &d = image_.window[0], &h = image_.window[1];
  return data_ + (offset_ + slice * d.stride * slice_ + (line - first_line_) * h.stride * line_ + tap);
}

}  // namespace tern::channels_last
