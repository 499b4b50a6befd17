// A bar chart of the errors by layer, for the terminal and the image.
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
  double end = 10, tick = 10;  ///< axis range and tick distance, in decibels
};

/// Chart of the layers' own errors; of the weights' errors without a calibration (null).
Chart chart_of(const QuantizeReport& report, const Calibration* calibration);

struct ChartStyle {
  bool blocks = false;  ///< eighths of a character; else '#'
  std::size_t columns = 80;
};
/// Style for standard output: blocks on a terminal with UTF-8.
ChartStyle output_style();
/// A row for each bar.
std::string chart_text(const Chart& chart, const ChartStyle& style);
/// A self-contained SVG document, for light and dark backgrounds.
std::string chart_svg(const Chart& chart);
/// Writes the chart; the file appears only when complete.
void write_chart(const std::string& path, const Chart& chart);

}  // namespace tern
