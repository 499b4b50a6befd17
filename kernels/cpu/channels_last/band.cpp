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
      w, [](const WindowAxis& a) { return a.before == 0 && a.position(a.out - 1, a.kernel - 1) < a.in; });
}

Band::Band(const Image& image, bool whole, float fill, float* buffer)
    : image_(image), whole_(whole), fill_(fill), buffer_(buffer) {
  const WindowAxis &h = image.window[1], &w = image.window[2];
  position_ = whole ? image.pitch : image.channels;
  line_ = position_ * (whole ? w.in : reach(w, w.out));
  step_ = position_ * w.stride;
  for (std::int64_t i = 0; i < h.kernel; ++i) {
    for (std::int64_t j = 0; j < w.kernel; ++j) taps_.push_back(i * h.dilation * line_ + j * w.dilation * position_);
  }
}

std::int64_t Band::floats(const Image& image, std::int64_t lines) {
  return image.channels * reach(image.window[2], image.window[2].out) * reach(image.window[1], lines);
}

void Band::load(const float* image, std::int64_t begin, std::int64_t end) {
  const WindowAxis &h = image_.window[1], &w = image_.window[2];
  first_line_ = begin;
  if (whole_) {
    first_ = image + begin * h.stride * line_;
    return;
  }
  first_ = buffer_;
  const std::int64_t channels = image_.channels, count = reach(w, w.out);
  const std::int64_t left = std::min(w.before, count), inside = std::clamp<std::int64_t>(count - left, 0, w.in);
  const bool dense = image_.pitch == channels;
  float* to = buffer_;
  for (std::int64_t i = 0; i < reach(h, end - begin); ++i, to += line_) {
    const std::int64_t at = h.position(begin, 0) + i;
    if (at < 0 || at >= h.in) {
      std::fill_n(to, line_, fill_);
      continue;
    }
    const float* from = image + at * w.in * image_.pitch;
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

const float* Band::line(std::int64_t line) const {
  return first_ + (line - first_line_) * image_.window[1].stride * line_;
}

}  // namespace tern::channels_last
