// Lines of an image whose channels lie side by side, rounded to bfloat16 with zeros around them: what the windows of a
// few lines of results read, as rows for tiles.
#pragma once

#include <numeric>
#include <vector>

#include "kernels/cpu/amx/phases.h"
#include "kernels/cpu/amx/rows.h"
#include "kernels/cpu/windows/window.h"

namespace tern::amx {

/// A piece of a window that lies in one piece: elements of the kernel's line `line` from `column` on.
struct Stretch {
  std::int64_t line = 0, column = 0, size = 0;  ///< size: floats
};

class RowBand {
 public:
  /// `pitch` floats between positions, of which a group reads `channels`.
  RowBand(const cpu::Window& window, std::int64_t pitch, std::int64_t channels);

  /// The pieces of a window in the order of a row's sum. Each begins a step.
  const std::vector<Stretch>& stretches() const { return stretches_; }
  std::int64_t steps() const;
  /// Pairs of elements in them that do not meet zeros only.
  std::int64_t pairs() const { return std::accumulate(pairs_.begin(), pairs_.end(), std::int64_t{0}); }

  /// Bytes of a band of so many lines of results.
  std::int64_t bytes(std::int64_t lines) const;
  /// Parts of a band that `load` fills by themselves.
  std::int64_t pieces(std::int64_t lines) const;
  /// Fills pieces [first, last) of the band for lines [lines.begin, lines.end) of results. `image`: position 0.
  void load(Elements image, Range lines, Range pieces, std::byte* band) const;

  /// Rows between the first positions of two lines of results.
  std::int64_t rows_of_line() const { return by_tiles_ ? window_[2].out : columns_ / window_[2].stride; }
  /// `count` rows of a band, from tile `tile` of them on; `steps` are a group's offsets.
  TileRows rows(const std::byte* band, std::int64_t tile, std::int64_t count,
                std::span<const std::int64_t> steps) const;
  /// Whether an image of bfloat16 is a band by itself.
  bool is_image() const { return every_position_ && channels_ % kStep == 0 && reads_in_place(); }
  /// Of the steps of a sum in a band of so many lines of results.
  std::vector<std::int64_t> step_offsets(std::int64_t group, std::int64_t lines) const;

 private:
  std::int64_t line_bytes() const { return columns_ * pitch_ * 2; }
  std::int64_t phase_lines(std::int64_t lines) const { return lines + height_.reach; }
  void load_line(Elements image, std::int64_t row, std::byte* to) const;

  cpu::Window window_;
  std::int64_t pitch_, channels_;
  bool by_tiles_;         ///< windows are one element: rows are packed tile by tile
  bool every_position_;   ///< windows are the positions of the image, in order
  std::int64_t columns_;  ///< positions of a line, with the zeros beside it
  Phases height_;
  std::vector<Stretch> stretches_;
  std::vector<std::uint8_t> pairs_;  ///< of each step
};

}  // namespace tern::amx
