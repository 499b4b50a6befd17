// Padded planes: how a band of output rows is cut from a two-dimensional window, and where its taps lie.
#pragma once

#include <vector>

#include "kernels/cpu/planes/loops.h"
#include "kernels/cpu/windows/window.h"

namespace tern::planes {

inline constexpr std::int64_t kManyChannels = 4;        ///< that share an input plane better than rows of results do
inline constexpr std::int64_t kWorthAThread = 1 << 17;  ///< products

/// The bands of output rows that an image is worked on in.
struct Bands {
  std::int64_t rows = 1, count = 1;  ///< rows of each but the last
  Layout layout;                     ///< of a band's input
  std::int64_t channel = 0;          ///< floats of one input plane's band

  /// Rows of output that band i makes.
  std::int64_t rows_of(std::int64_t i, std::int64_t out_h) const { return std::min(rows, out_h - i * rows); }
  /// Positions of `n` rows of results, `pitch` apart.
  std::int64_t positions(std::int64_t n, std::int64_t out_w) const { return (n - 1) * layout.pitch + out_w; }
};

/// That a window has at most two dimensions, and a band of one row of its results is of a size for a cache.
bool has_bands(const cpu::Window& w, std::int64_t planes);

/// Bands whose input, of `planes` planes, takes about `floats` floats, and which are at least `parts` where the image
/// has as many rows.
Bands bands_of(const cpu::WindowAxis& h, const cpu::WindowAxis& w, std::int64_t planes, std::int64_t floats,
               std::int64_t parts);

/// Where each element of the window lies: row by row, for each of `planes` planes.
std::vector<std::int64_t> taps_of(const Bands& b, const cpu::WindowAxis& h, const cpu::WindowAxis& w,
                                  std::int64_t planes);

/// The same by columns of the window, of one plane; empty where they do not lie as ColumnTaps says.
std::vector<ColumnTaps> columns_of(const Bands& b, const cpu::WindowAxis& h, const cpu::WindowAxis& w);

}  // namespace tern::planes
