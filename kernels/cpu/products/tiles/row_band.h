// Lines of an image whose channels lie side by side, in the type that is multiplied, with padding around them: what the
// windows of a few lines of results read, as rows for tiles or vectors.
#pragma once

#include <numeric>
#include <vector>

#include "kernels/cpu/products/tiles/phases.h"
#include "kernels/cpu/products/tiles/rows.h"
#include "kernels/cpu/windows/window.h"

namespace tern::tiles {

/// The format in which the rows of a band are multiplied.
struct RowFormat {
  std::int64_t element = 2;  ///< bytes
  bool tiles = false;        ///< fastest from tiles that lie in one piece each; otherwise from anywhere
  double step_cycles = 0;    ///< cycles of a step of 16 rows by 32 columns
  int fill = 0;              ///< the bytes of padding
  /// Elements of a step.
  std::int64_t step() const { return 64 / element; }
  std::int64_t steps(std::int64_t k) const { return (k + step() - 1) / step(); }

  static RowFormat bfloat16();
};

/// The image that a band is made from, channels last; elements are counted from its first.
class RowImage {
 public:
  virtual ~RowImage() = default;
  /// `count` neighbours as the band has them, side by side.
  virtual void line(std::int64_t first, std::int64_t count, std::byte* to) const = 0;
  /// Rows of k elements, `row` apart, as rows [rows.begin, rows.end) of a layout of tiles.
  virtual void tiles(std::int64_t first, std::int64_t row, IndexRange rows, std::int64_t k, const RowLayout& layout,
                     std::byte* to) const = 0;
  /// The element in memory, of an image that lies as a band has it.
  virtual const std::byte* element(std::int64_t first) const = 0;
};

/// A piece of a window that lies in one piece: elements of the kernel's line `line` from `column` on.
struct Stretch {
  std::int64_t line = 0, column = 0, size = 0;  ///< size: elements
};

class RowBand {
 public:
  /// `pitch` elements between positions, of which a group reads `channels`.
  RowBand(const cpu::Window& window, std::int64_t pitch, std::int64_t channels, const RowFormat& format);

  /// The pieces of a window in the order of a row's sum. Each begins a step.
  const std::vector<Stretch>& stretches() const { return stretches_; }
  std::int64_t steps() const;
  /// Groups of four bytes in them that do not meet zeros only.
  std::int64_t pairs() const { return std::accumulate(pairs_.begin(), pairs_.end(), std::int64_t{0}); }

  /// Bytes of a band of so many lines of results.
  std::int64_t bytes(std::int64_t lines) const;
  /// Parts of a band that `load` fills by themselves.
  std::int64_t pieces(std::int64_t lines) const;
  /// Fills pieces [first, last) of the band for lines [lines.begin, lines.end) of results. `first`: position 0.
  void load(const RowImage& image, std::int64_t first, IndexRange lines, IndexRange pieces, std::byte* band) const;

  /// Rows between the first positions of two lines of results.
  std::int64_t rows_of_line() const { return is_pointwise_ ? window_[2].out : columns_ / window_[2].stride; }
  /// `count` rows of a band, from tile `tile` of them on; `steps` are a group's offsets.
  TileRows rows(const std::byte* band, std::int64_t tile, std::int64_t count,
                std::span<const std::int64_t> steps) const;
  /// True if an image of the band's type is a band by itself.
  bool is_image() const { return every_position_ && channels_ % format_.step() == 0 && !format_.tiles; }
  /// Offsets of the steps of a sum in a band of so many lines of results.
  std::vector<std::int64_t> step_offsets(std::int64_t group, std::int64_t lines) const;

 private:
  std::int64_t line_bytes() const { return columns_ * pitch_ * format_.element; }
  std::int64_t phase_lines(std::int64_t lines) const { return lines + height_.reach; }
  RowLayout tile_layout() const;
  void load_line(const RowImage& image, std::int64_t first, std::int64_t row, std::byte* to) const;

  cpu::Window window_;
  std::int64_t pitch_, channels_;
  RowFormat format_;
  bool is_pointwise_;     ///< windows are one element: rows are packed tile by tile
  bool every_position_;   ///< windows are the positions of the image, in order
  std::int64_t columns_;  ///< positions of a line, with the zeros beside it
  Phases height_;
  std::vector<Stretch> stretches_;
  std::vector<std::uint8_t> pairs_;  ///< pairs of each step
};

}  // namespace tern::tiles
