// The chart in the terminal.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "platform/environment.h"
#include "tools/quantize/chart.h"
#include "tools/terminal.h"

namespace tern {
namespace {

constexpr std::size_t kWidest = 120, kMinCells = 10, kNameBytes = 60;

bool draws_blocks() {
  if (!is_terminal(1)) return false;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string locale = platform::trusted_variable(name).value_or("");
    if (locale.empty()) continue;  // the first variable set decides
    return locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

/// A bar of `fraction` times `cells`: eighths of a block, or whole '#'.
std::string bar_text(double fraction, std::size_t cells, bool blocks) {
  constexpr std::array kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::lround(fraction * static_cast<double>(cells) * 8));
  if (!blocks) return std::string((eighths + 4) / 8, '#');
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[eighths % 8];
}

}  // namespace

ChartStyle output_style() {
  return {draws_blocks(), std::min(terminal_columns(1), kWidest)};
}

std::string chart_text(const Chart& chart, const ChartStyle& style) {
  using Align = TextTable::Align;
  std::size_t names = 0, formats = 0, numbers = 0;
  for (const Bar& b : chart.bars) {
    names = std::max(names, display_width(escape_name(b.name, kNameBytes)));
    formats = std::max(formats, b.format.size());
    numbers = std::max(numbers, b.text.size());
  }
  const std::size_t other_columns = names + formats + numbers + 6 + 1, columns = style.columns;
  const std::size_t cells = std::max(columns > other_columns ? columns - other_columns : 0, kMinCells);
  TextTable table({{""}, {""}, {"", Align::right}, {""}});
  for (const Bar& b : chart.bars)
    table.add_row(
        {escape_name(b.name, kNameBytes), b.format, b.text, bar_text(b.decibels / chart.end, cells, style.blocks)});
  return fmt::format("{}\n{}; the whole width is {:g} dB\n{}", escape_name(chart.title), chart.axis, chart.end,
                     table.str());
}

}  // namespace tern
