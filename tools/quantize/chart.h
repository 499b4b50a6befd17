// The error by layer as bars: what the terminal and the image draw.
#pragma once

#include <string>
#include <vector>

#include "tools/quantize/calibrate.h"

namespace tern {

struct Bar {
  std::string name, format;
  double decibels = 0;  ///< 0 to the end of the axis
  std::string text;     ///< "20.3", "exact", "not measured"
};

struct Chart {
  std::string title, axis;
  std::vector<Bar> bars;
  double end = 10, tick = 10;  ///< of the axis, in decibels
};

/// Of the layers' own errors; of the weights' where nothing was calibrated (null).
Chart chart_of(const QuantizeReport& report, const Calibration* calibration);

struct ChartStyle {
  bool blocks = false;  ///< in eighths of a character; else '#'
  std::size_t columns = 80;
};
/// Of standard output: blocks on a terminal with UTF-8.
ChartStyle output_style();
/// A row for each bar.
std::string chart_text(const Chart& chart, const ChartStyle& style);
/// An SVG document, for light and dark backgrounds, which needs nothing else.
std::string chart_svg(const Chart& chart);
/// Writes it; the file appears when it is complete.
void write_chart(const std::string& path, const Chart& chart);

}  // namespace tern
