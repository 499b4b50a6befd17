// A band holds the padded lines of a channels-last image read by the windows of a few result lines. A band stays in the
// second cache.
#pragma once

#include <vector>

#include "kernels/cpu/windows/window.h"

namespace tern::channels_last {

/// An image of two dimensions (axes 1 and 2 of the window; axis 0 has size 1) with `pitch` floats between positions;
/// windows read `channels` of these.
struct Image {
  cpu::Window window;
  std::int64_t pitch = 0, channels = 0;
};

/// True if no window reads outside the image.
bool is_inside(const cpu::Window& w);

class Band {
 public:
  /// `whole` reads the image in place; otherwise copies lines, with `fill` around them. `buffer` has room for
  /// `floats(lines)`.
  Band(const Image& image, bool whole, float fill, float* buffer);
  static std::int64_t floats(const Image& image, std::int64_t lines);

  /// Loads the image lines for result lines [begin, end).
  void load(const float* image, std::int64_t begin, std::int64_t end);
  /// Returns the first element of the first window of result line `line`.
  const float* line(std::int64_t line) const;
  /// Returns the floats between neighbouring windows.
  std::int64_t step() const { return step_; }
  /// Offsets of the window elements in floats from the window's first element.
  const std::vector<std::ptrdiff_t>& taps() const { return taps_; }

 private:
  Image image_;
  bool whole_;
  float fill_;
  float* buffer_;
  const float* first_ = nullptr;  ///< first element of result line first_line_
  std::int64_t first_line_ = 0;
  std::int64_t position_, line_, step_;  ///< floats between positions, lines of the image, windows
  std::vector<std::ptrdiff_t> taps_;
};

}  // namespace tern::channels_last
