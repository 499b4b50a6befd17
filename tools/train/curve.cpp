#include "tools/train/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/train/curve_axis.h"

namespace tern::train {
namespace {

constexpr double kLogarithmicFrom = 20;

}  // namespace

std::vector<Point> smoothed(const std::vector<double>& losses, std::size_t points) {
  std::vector<Point> result;
  const std::size_t width = std::max<std::size_t>(1, (losses.size() + points - 1) / std::max<std::size_t>(points, 1));
  for (std::size_t first = 0; first < losses.size(); first += width) {
    const std::size_t last = std::min(first + width, losses.size());
    double sum = 0, count = 0;
    for (std::size_t i = first; i < last; ++i) {
      if (!std::isfinite(losses[i])) continue;
      sum += losses[i];
      ++count;
    }
    if (count > 0) result.push_back({static_cast<double>(first + last) / 2, sum / count});
  }
  return result;
}

double CurveAxes::height(double loss) const {
  const double fraction =
      logarithmic ? std::log(std::max(loss, low) / low) / std::log(high / low) : (loss - low) / (high - low);
  return std::clamp(fraction, 0.0, 1.0);
}

double CurveAxes::loss(double height) const {
  return logarithmic ? low * std::pow(high / low, height) : low + (high - low) * height;
}

CurveAxes axes_of(const Curve& curve) {
  CurveAxes a;
  bool first = true;
  for (const std::vector<Point>* points : {&curve.trained, &curve.held_out}) {
    for (const Point& p : *points) {
      a.last_step = std::max(a.last_step, p.step);
      a.low = first ? p.loss : std::min(a.low, p.loss);
      a.high = first ? p.loss : std::max(a.high, p.loss);
      first = false;
    }
  }
  a.logarithmic = a.low > 0 && a.high / a.low > kLogarithmicFrom;
  if (!a.logarithmic && a.low > 0 && a.low < a.high / 2) a.low = 0;
  if (!(a.high > a.low)) a.high = a.low + 1;
  return a;
}

std::string curve_text(const Curve& curve, std::size_t columns, std::size_t rows) {
  if (curve.trained.empty() || rows < 2) return {};
  constexpr std::size_t kScale = 10;  // columns of the numbers
  const CurveAxes axes = axes_of(curve);
  const std::size_t width = std::max<std::size_t>(columns > kScale + 1 ? columns - kScale - 1 : 0, 10);
  std::vector<std::string> lines(rows, std::string(width, ' '));
  const auto plot_points = [&](const std::vector<Point>& points, char mark) {
    for (const Point& p : points) {
      const auto x = static_cast<std::size_t>(p.step / axes.last_step * static_cast<double>(width - 1));
      const auto y = static_cast<std::size_t>(std::lround((1 - axes.height(p.loss)) * static_cast<double>(rows - 1)));
      lines[y][x] = mark;
    }
  };
  plot_points(curve.trained, '*');
  plot_points(curve.held_out, 'o');
  std::string text = curve.held_out.empty() ? "loss\n" : "loss: * trained, o held out\n";
  for (std::size_t i = 0; i < rows; ++i) {
    while (!lines[i].empty() && lines[i].back() == ' ') lines[i].pop_back();
    const bool labelled = i == 0 || i + 1 == rows || i == rows / 2;
    const double loss = axes.loss(1 - static_cast<double>(i) / static_cast<double>(rows - 1));
    text += fmt::format("{:>9} |{}\n", labelled ? fmt::format("{:.3g}", loss) : "", lines[i]);
  }
  return text +
         fmt::format("{:>9} +{}\n{:>11}1{:>{}.0f} steps\n", "", std::string(width, '-'), "", axes.last_step, width - 7);
}

}  // namespace tern::train
