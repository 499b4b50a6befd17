// Some lines of an image whose channels lie side by side, with their padding: what the windows of a few lines of
// results read. A band stays in the second cache.
#pragma once

#include <vector>

#include "kernels/cpu/windows/window.h"

namespace tern::channels_last {

/// An image of two dimensions (axes 1 and 2 of the window; axis 0 has size 1), `pitch` floats between its positions, of
/// which windows read `channels`.
struct Image {
  cpu::Window window;
  std::int64_t pitch = 0, channels = 0;
};

/// No window reads beside the image.
bool is_inside(const cpu::Window& w);

class Band {
 public:
  /// With `whole` the image is read where it lies; else lines are copied, `fill` around them. `buffer` has room for
  /// `floats(lines)`.
  Band(const Image& image, bool whole, float fill, float* buffer);
  static std::int64_t floats(const Image& image, std::int64_t lines);

  /// Brings lines [begin, end) of results about.
  void load(const float* image, std::int64_t begin, std::int64_t end);
  /// The first element of the first window of result line `line`.
  const float* line(std::int64_t line) const;
  /// Floats between neighbouring windows.
  std::int64_t step() const { return step_; }
  /// For each element of a window: floats behind the window's first.
  const std::vector<std::ptrdiff_t>& taps() const { return taps_; }

 private:
  Image image_;
  bool whole_;
  float fill_;
  float* buffer_;
  const float* first_ = nullptr;  ///< of result line first_line_
  std::int64_t first_line_ = 0;
  std::int64_t position_, line_, step_;  ///< floats between positions, lines of the image, windows
  std::vector<std::ptrdiff_t> taps_;
};

}  // namespace tern::channels_last
