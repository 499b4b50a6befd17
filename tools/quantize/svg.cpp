// The chart as an SVG document.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "tools/quantize/chart.h"
#include "tools/text.h"

namespace tern {
namespace {

// Sizes in pixels.
constexpr double kSvgWidth = 960, kMargin = 16, kRow = 22, kBar = 14, kLetter = 7, kValueColumn = 96;
constexpr std::size_t kSvgMostLetters = 44;

/// A colour for each format, in the order of its first bar: readable on white and black, also with colour blindness.
/// Each bar also shows its format as text.
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a63d2",
                                 "#b8860b", "#56a0d3", "#7f7f7f", "#a0522d"};

/// Text without a style sheet (some viewers) is grey, readable on both backgrounds.
constexpr const char* kStyle =
    "text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#1f2328}"
    ".page{fill:#ffffff}.grid{stroke:#d0d7de}.faint{fill:#59636e}.head{font-size:15px;font-weight:600}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.grid{stroke:#3d444d}.faint{fill:#9198a1}}";

/// Escapes text from files for XML: characters unsafe on a terminal, and the two characters missing in XML.
std::string xml(std::string_view text) {
  std::string escaped;
  const std::string safe = escape_name(text, 400);
  for (std::size_t i = 0; i < safe.size(); ++i) {
    if (safe.compare(i, 2, "\xef\xbf") == 0 && i + 2 < safe.size() &&
        (safe[i + 2] == '\xbe' || safe[i + 2] == '\xbf')) {
      escaped += safe[i + 2] == '\xbe' ? "\\ufffe" : "\\uffff";
      i += 2;
      continue;
    }
    switch (safe[i]) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += safe[i];
    }
  }
  return escaped;
}

/// The first characters of a name, without splitting a character.
std::string shortened(const std::string& name) {
  if (display_width(name) <= kSvgMostLetters) return name;
  std::string start;
  for (std::size_t i = 0; i < name.size() && (display_width(start) < kSvgMostLetters - 1 || !is_utf8(start)); ++i)
    start += name[i];
  return start + "…";
}

std::string_view colour_of(const std::vector<std::string>& formats, const std::string& format) {
  const auto colour_index = static_cast<std::size_t>(std::ranges::find(formats, format) - formats.begin());
  return kColours[colour_index % kColours.size()];
}

std::vector<std::string> formats_of(const Chart& chart) {
  std::vector<std::string> formats;
  for (const Bar& b : chart.bars) {
    if (std::ranges::find(formats, b.format) == formats.end()) formats.push_back(b.format);
  }
  return formats;
}

const char* unit_of(const Bar& b) {
  return b.text.find_first_of("0123456789") == 0 || b.text.starts_with('-') ? " dB" : "";
}

/// Description for screen readers; each bar has its own title.
std::string description_of(const Chart& chart) {
  const auto worst = std::ranges::min_element(chart.bars, {}, &Bar::decibels);
  return worst == chart.bars.end()
             ? "A bar chart without bars."
             : fmt::format("A horizontal bar chart of {} bars. {}. The shortest: {}, {}, {}{}.", chart.bars.size(),
                           chart.axis, worst->name, worst->format, worst->text, unit_of(*worst));
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart), formats_(formats_of(chart)) {
    for (const Bar& b : chart_.bars)
      left_edge_ = std::max(left_edge_, static_cast<double>(display_width(shortened(b.name))) * kLetter);
    left_edge_ += 2 * kMargin;
    right_edge_ = kSvgWidth - kMargin - kValueColumn;
    top_edge_ = 84;
    bottom_edge_ = top_edge_ + kRow * static_cast<double>(chart_.bars.size());
  }

  std::string str() {
    const double height = bottom_edge_ + 56;
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" height=\"{1:g}\" "
        "role=\"img\" aria-labelledby=\"title desc\">\n<title id=\"title\">{2}</title>\n<desc id=\"desc\">{3}</desc>\n"
        "<style>{4}</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\" fill=\"none\"/>\n",
        kSvgWidth, height, xml(chart_.title), xml(description_of(chart_)), kStyle);
    put_text(kMargin, 28, "head", "start", chart_.title);
    legend();
    axis();
    for (std::size_t i = 0; i < chart_.bars.size(); ++i) bar(chart_.bars[i], top_edge_ + kRow * static_cast<double>(i));
    return svg_ + "</svg>\n";
  }

 private:
  double x_of(double decibels) const { return left_edge_ + (right_edge_ - left_edge_) * decibels / chart_.end; }

  void put_text(double x, double y, std::string_view style, std::string_view anchor, std::string_view text) {
    svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\" fill=\"#7d8590\">{}</text>\n",
                        x, y, style, anchor, xml(text));
  }

  void legend() {
    double x = kMargin;
    for (const std::string& f : formats_) {
      svg_ += fmt::format("<rect class=\"key\" x=\"{:.1f}\" y=\"44\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", x,
                          colour_of(formats_, f));
      put_text(x + 18, 54, "faint", "start", f);
      x += 36 + kLetter * static_cast<double>(f.size());
    }
  }

  void axis() {
    for (double tick_value = 0; tick_value <= chart_.end; tick_value += chart_.tick) {
      svg_ += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"#7d8590\" "
          "stroke-opacity=\"0.6\"/>\n",
          x_of(tick_value), top_edge_ - 4, bottom_edge_ + 4);
      put_text(x_of(tick_value), bottom_edge_ + 20, "faint", "middle", fmt::format("{:g}", tick_value));
    }
    put_text((left_edge_ + right_edge_) / 2, bottom_edge_ + 42, "faint", "middle", chart_.axis);
  }

  void bar(const Bar& b, double y) {
    const double middle = y + kRow / 2 + 4, length = x_of(b.decibels) - left_edge_;
    svg_ +=
        fmt::format("<g><title>{}</title>\n", xml(fmt::format("{}, {}: {}{}", b.name, b.format, b.text, unit_of(b))));
    put_text(left_edge_ - 8, middle, "name", "end", shortened(b.name));
    svg_ += fmt::format(
        "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:g}\" rx=\"2\" fill=\"{}\"/>\n",
        left_edge_, y + (kRow - kBar) / 2, length, kBar, colour_of(formats_, b.format));
    put_text(left_edge_ + length + 6, middle, "faint", "start", fmt::format("{}{}, {}", b.text, unit_of(b), b.format));
    svg_ += "</g>\n";
  }

  const Chart& chart_;
  std::vector<std::string> formats_;
  double left_edge_ = 0, right_edge_ = 0, top_edge_ = 0, bottom_edge_ = 0;
  std::string svg_;
};

}  // namespace

std::string chart_svg(const Chart& chart) {
  return Drawing(chart).str();
}

}  // namespace tern
