#include "kernels/cpu/products/tiles/row_band.h"

#include <algorithm>
#include <cstring>

namespace tern::tiles {
namespace {

constexpr std::int64_t kStepBytes = 64;

bool is_one_element(const cpu::Window& w) {
  return std::ranges::all_of(w, [](const cpu::WindowAxis& a) {
    return a.kernel == 1 && a.padding_before == 0 && a.position(a.out - 1, 0) < a.in;
  });
}

}  // namespace

RowFormat RowFormat::bfloat16() {
  return {.element = 2, .tiles = !reads_in_place(), .step_cycles = tiles::step_cycles()};
}

RowBand::RowBand(const cpu::Window& window, std::int64_t pitch, std::int64_t channels, const RowFormat& format)
    : window_(window),
      pitch_(pitch),
      channels_(channels),
      format_(format),
      is_pointwise_(is_one_element(window) && pitch == channels && format.tiles),
      every_position_(cpu::is_every_position(window)),
      height_(phases_of(window[1])) {
  const cpu::WindowAxis& w = window[2];
  const std::int64_t reach = (w.out - 1) * w.stride + (w.kernel - 1) * w.dilation + 1;
  columns_ = (reach + w.stride - 1) / w.stride * w.stride;
  // A line of elements that lie side by side, with all of their channels, is one stretch.
  const bool whole_lines = pitch == channels && w.dilation == 1;
  for (std::int64_t i = 0; i < window[1].kernel; ++i) {
    if (whole_lines) {
      stretches_.push_back({i, 0, w.kernel * channels});
      continue;
    }
    for (std::int64_t j = 0; j < w.kernel; ++j) stretches_.push_back({i, j, channels});
  }
  for (const Stretch& s : stretches_) add_pairs((s.size * format_.element + 1) / 2, pairs_);
}

std::int64_t RowBand::steps() const {
  std::int64_t steps = 0;
  for (const Stretch& s : stretches_) steps += format_.steps(s.size);
  return steps;
}

RowLayout RowBand::tile_layout() const {
  return {format_.steps(channels_) * kTileBytes, kStepBytes, kTileBytes};
}

std::int64_t RowBand::bytes(std::int64_t lines) const {
  if (is_pointwise_) return tile_layout().bytes(lines * window_[2].out) + kTileBytes;
  const std::int64_t beyond = kTile * window_[2].stride * pitch_ * format_.element + kStepBytes;
  return static_cast<std::int64_t>(height_.phases.size()) * phase_lines(lines) * line_bytes() + beyond;
}

std::int64_t RowBand::pieces(std::int64_t lines) const {
  return is_pointwise_ ? lines : static_cast<std::int64_t>(height_.phases.size()) * phase_lines(lines);
}

void RowBand::load_line(const RowImage& image, std::int64_t origin, std::int64_t row, std::byte* to) const {
  const cpu::WindowAxis& w = window_[2];
  const std::int64_t before = std::min(w.padding_before, columns_),
                     first = std::max<std::int64_t>(0, -w.padding_before),
                     inside =
                         row < 0 || row >= window_[1].in
                             ? 0
                             : std::clamp<std::int64_t>(columns_ - std::max<std::int64_t>(0, before), 0, w.in - first);
  const std::int64_t left = inside == 0 ? 0 : std::max<std::int64_t>(0, before) * pitch_ * format_.element,
                     size = inside * pitch_;
  std::memset(to, format_.fill, static_cast<std::size_t>(left));
  if (inside > 0) image.line(origin + (row * w.in + first) * pitch_, size, to + left);
  std::memset(to + left + size * format_.element, format_.fill,
              static_cast<std::size_t>(line_bytes() - left - size * format_.element));
}

void RowBand::load(const RowImage& image, std::int64_t first, IndexRange lines, IndexRange pieces,
                   std::byte* band) const {
  const cpu::WindowAxis &h = window_[1], &w = window_[2];
  if (is_pointwise_) {
    const bool plain = h.stride == 1 && w.stride == 1 && w.in == w.out;
    for (std::int64_t i = pieces.begin; i < pieces.end; ++i) {
      const std::int64_t count = plain ? pieces.end - i : 1;
      image.tiles(first + (lines.begin + i) * h.stride * w.in * pitch_, w.stride * pitch_,
                  {i * w.out, (i + count) * w.out}, channels_, tile_layout(), band);
      if (plain) return;
    }
    return;
  }
  if (every_position_) {
    const std::int64_t line = w.in * pitch_;
    image.line(first + (lines.begin + pieces.begin) * line, (pieces.end - pieces.begin) * line,
               band + pieces.begin * line_bytes());
  } else {
    const std::int64_t count = phase_lines(lines.end - lines.begin);
    for (std::int64_t i = pieces.begin; i < pieces.end; ++i) {
      const std::int64_t phase = i / count, row = (lines.begin + i % count + height_.lowest) * h.stride +
                                                  height_.phases[static_cast<std::size_t>(phase)];
      load_line(image, first, row, band + i * line_bytes());
    }
  }
  // Clears the step behind the last element: zeros of the weight may not meet NaN.
  if (pieces.end == this->pieces(lines.end - lines.begin))
    std::memset(band + pieces.end * line_bytes(), 0, static_cast<std::size_t>(kStepBytes));
}

std::vector<std::int64_t> RowBand::step_offsets(std::int64_t group, std::int64_t lines) const {
  std::vector<std::int64_t> offsets;
  for (const Stretch& s : stretches_) {
    const auto line = static_cast<std::size_t>(s.line);
    const std::int64_t in_band = height_.phase[line] * phase_lines(lines) + height_.shift[line] - height_.lowest;
    std::int64_t at =
        in_band * line_bytes() + (s.column * window_[2].dilation * pitch_ + group * channels_) * format_.element;
    for (std::int64_t i = 0; i < format_.steps(s.size); ++i, at += kStepBytes)
      offsets.push_back(is_pointwise_ ? i * kTileBytes : at);
  }
  return offsets;
}

TileRows RowBand::rows(const std::byte* band, std::int64_t tile, std::int64_t count,
                       std::span<const std::int64_t> steps) const {
  const std::int64_t row = is_pointwise_ ? kStepBytes : window_[2].stride * pitch_ * format_.element,
                     size = is_pointwise_ ? static_cast<std::int64_t>(steps.size()) * kTileBytes : kTile * row;
  return {band + tile * size, count, size, row, steps, pairs_};
}

}  // namespace tern::tiles
