// A band holds the padded lines of a channels-last image read by the windows of a few result lines. A band stays in the
// second cache.
#pragma once

#include <vector>

#include "kernels/cpu/windows/window.h"

namespace tern::channels_last {

/// An image of up to three dimensions with `pitch` floats between positions; windows read `channels` of these.
struct Image {
  cpu::Window window;
  std::int64_t pitch = 0, channels = 0;
};

/// True if no window reads outside the image.
bool is_inside(const cpu::Window& w);

/// Result lines [begin, end) of each of the result slices [first_slice, last_slice).
struct BandPart {
  std::int64_t begin = 0, end = 0, first_slice = 0, last_slice = 1;
};

class Band {
 public:
  /// `whole` reads the image in place; otherwise copies lines, with `fill` around them. `buffer` has room for
  /// `floats(lines, slices)`; a volume's band has at most `lines` lines of each slice.
  Band(const Image& image, bool whole, float fill, float* buffer, std::int64_t lines = 1);
  static std::int64_t floats(const Image& image, std::int64_t lines, std::int64_t slices = 1);

  /// Loads the image lines for a part of the result.
  void load(const float* image, const BandPart& part);
  /// Returns the first element of the first window of result line `line`, in the first slice of the part.
  const float* line(std::int64_t line) const { return element(0, line, 0); }
  /// Returns the element at `tap` (one of `taps`) of the first window of line `line` of the part's slice `slice`.
  const float* element(std::int64_t slice, std::int64_t line, std::ptrdiff_t tap) const;
  /// Returns the floats between neighbouring windows.
  std::int64_t step() const { return step_; }
  /// Offsets of the window elements in floats from the window's first element.
  const std::vector<std::ptrdiff_t>& taps() const { return taps_; }

 private:
  void load_slice(const float* image, std::int64_t begin, std::int64_t end, float* to) const;

  Image image_;
  bool is_full_width_;
  float fill_;
  float* buffer_;
  const float* data_ = nullptr;                  ///< the image or the buffer
  std::int64_t offset_ = 0;                      ///< floats from `data_` to the first element of the part's first line
  std::int64_t first_line_ = 0;                  ///< first line of the part
  std::int64_t position_, line_, slice_, step_;  ///< floats between positions, lines, slices of the image, windows
  std::vector<std::ptrdiff_t> taps_;
};

}  // namespace tern::channels_last
