#include <fmt/format.h>

#include "tools/text.h"
#include "tools/train/curve.h"
#include "tools/train/curve_axis.h"

namespace tern::train {
namespace {

// Sizes in pixels.
constexpr double kWidth = 800, kHeight = 420, kLeft = 64, kRight = 16, kTop = 44, kBottom = 40;
constexpr int kTicks = 5;

/// Text without a style sheet (some viewers) is black, on a white page.
constexpr const char* kStyle =
    "text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#1f2328}.page{fill:#ffffff}"
    ".grid{stroke:#d0d7de}.head{font-size:15px;font-weight:600}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.grid{stroke:#3d444d}}";

double x_of(const CurveAxes& a, double step) {
  return kLeft + step / a.last_step * (kWidth - kLeft - kRight);
}
double y_of(const CurveAxes& a, double loss) {
  return kTop + (1 - a.height(loss)) * (kHeight - kTop - kBottom);
}

std::string line(const CurveAxes& a, const std::vector<Point>& points, const char* colour) {
  std::string path;
  for (const Point& p : points) path += fmt::format("{:.1f},{:.1f} ", x_of(a, p.step), y_of(a, p.loss));
  return fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" points=\"{}\"/>\n", colour, path);
}

std::string xml(const std::string& text) {
  std::string escaped;
  for (char c : escape_name(text, 400)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

}  // namespace

std::string curve_svg(const Curve& curve, const std::string& title) {
  const CurveAxes a = axes_of(curve);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<style>{2}</style>\n<rect class=\"page\" width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text class=\"head\" x=\"{3}\" y=\"24\">{4}</text>\n",
      kWidth, kHeight, kStyle, kLeft, xml(title));
  for (int i = 0; i < kTicks; ++i) {
    const double fraction = static_cast<double>(i) / (kTicks - 1), loss = a.loss(fraction),
                 step = fraction * a.last_step;
    const double y = y_of(a, loss), x = x_of(a, step);
    svg += fmt::format(
        "<line class=\"grid\" stroke=\"#d0d7de\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.3g}</text>"
        "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.0f}</text>\n",
        kLeft, kWidth - kRight, y, y, kLeft - 8, y + 4, loss, x, kHeight - 18, step);
  }
  svg += line(a, curve.trained, "#0072b2");
  if (!curve.held_out.empty()) svg += line(a, curve.held_out, "#d55e00");
  for (const Point& p : curve.held_out)
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"#d55e00\"/>\n", x_of(a, p.step),
                       y_of(a, p.loss));
  svg += fmt::format(
      "<text x=\"{0}\" y=\"24\" text-anchor=\"end\"><tspan fill=\"#0072b2\">trained</tspan>{1}</text>\n"
      "<text x=\"{2}\" y=\"{3}\" text-anchor=\"middle\">steps</text>\n</svg>\n",
      kWidth - kRight, curve.held_out.empty() ? "" : " <tspan fill=\"#d55e00\">held out</tspan>", kWidth / 2,
      kHeight - 4);
  return svg;
}

}  // namespace tern::train
