// The loss of a training run as a curve: in the terminal, and as an SVG document.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tern::train {

struct Point {
  double step = 0, loss = 0;
};
struct Curve {
  std::vector<Point> trained;   ///< smoothed, so that batches' noise does not hide it
  std::vector<Point> held_out;  ///< at the end of epochs; may be empty
};

/// Means over as many neighbours as make at most `points` points of the losses of all steps. Losses that are not finite
/// are left out.
std::vector<Point> smoothed(const std::vector<double>& losses, std::size_t points);

/// A drawing of `rows` lines: '*' for trained, 'o' for held out, with the scale beside it. Empty without points.
std::string curve_text(const Curve& curve, std::size_t columns, std::size_t rows);

/// For light and dark backgrounds; needs nothing else. The loss axis is logarithmic where losses span more than a
/// factor of 20.
std::string curve_svg(const Curve& curve, const std::string& title);

}  // namespace tern::train
