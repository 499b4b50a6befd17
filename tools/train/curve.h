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
  std::vector<Point> trained;   ///< smoothed, to reduce the noise of batches
  std::vector<Point> held_out;  ///< points at the ends of epochs; may be empty
};

/// Means of the losses over equal numbers of neighbouring steps, at most `points` points. Skips losses with infinite or
/// NaN values.
std::vector<Point> smoothed(const std::vector<double>& losses, std::size_t points);

/// Draws `rows` lines of text: '*' for trained, 'o' for held out, with the scale at the side. Empty without points.
std::string curve_text(const Curve& curve, std::size_t columns, std::size_t rows);

/// A self-contained image for light and dark backgrounds. The loss axis is logarithmic if losses span more than a
/// factor of 20.
std::string curve_svg(const Curve& curve, const std::string& title);

}  // namespace tern::train
