// Padded planes: bands of output rows of a two-dimensional window, and the positions of their taps.
#pragma once

#include <vector>

#include "kernels/cpu/planes/loops.h"
#include "kernels/cpu/windows/window.h"

namespace tern::planes {

inline constexpr std::int64_t kManyChannels = 4;        ///< enough channels to share an input plane
inline constexpr std::int64_t kWorthAThread = 1 << 17;  ///< products

/// The bands of output rows of an image.
struct Bands {
  std::int64_t rows = 1, count = 1;  ///< rows of each band but the last
  PaddedPlaneLayout layout;          ///< layout of a band's input
  std::int64_t channel = 0;          ///< floats of a band of one input plane

  /// Returns the output rows of band i.
  std::int64_t rows_of(std::int64_t i, std::int64_t out_h) const { return std::min(rows, out_h - i * rows); }
  /// Returns the positions spanned by `n` result rows, `pitch` apart.
  std::int64_t positions(std::int64_t n, std::int64_t out_w) const { return (n - 1) * layout.pitch + out_w; }
};

/// True if a window has at most two dimensions and a band of a single result row fits a cache.
bool has_bands(const cpu::Window& w, std::int64_t planes);

/// Returns bands whose input of `planes` planes takes about `floats` floats; at least `parts` bands if the image has as
/// many rows.
Bands bands_of(const cpu::WindowAxis& h, const cpu::WindowAxis& w, std::int64_t planes, std::int64_t floats,
               std::int64_t parts);

/// Returns the offset of each window element: row by row, for each of `planes` planes.
std::vector<std::int64_t> taps_of(const Bands& b, const cpu::WindowAxis& h, const cpu::WindowAxis& w,
                                  std::int64_t planes);

/// Returns the taps of a plane by window columns; empty unless ColumnTaps can describe them.
std::vector<ColumnTaps> columns_of(const Bands& b, const cpu::WindowAxis& h, const cpu::WindowAxis& w);

}  // namespace tern::planes
