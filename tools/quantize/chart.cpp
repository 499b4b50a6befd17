#include "tools/quantize/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "loader/atomic_file.h"

namespace tern {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kMaxDecibels = 400;  // beyond the precision of float64

struct ChartRow {
  std::string name, format;
  double sqnr;  ///< infinite without errors, NaN if not measured
};

std::vector<ChartRow> rows_of(const QuantizeReport& report, const Calibration* c) {
  std::vector<ChartRow> rows;
  if (c != nullptr) {
    for (const LayerError& l : c->layers)
      rows.push_back({l.name, l.format, l.isolated ? l.isolated->sqnr() : kMissing});
  } else {
    for (const QuantizedWeight& w : report.weights) rows.push_back({w.name, w.format, w.sqnr});
  }
  return rows;
}

std::string text_of(double sqnr) {
  if (std::isnan(sqnr)) return "not measured";
  return std::isinf(sqnr) && sqnr > 0 ? "exact" : std::isinf(sqnr) ? "only errors" : fmt::format("{:.1f}", sqnr);
}

}  // namespace

Chart chart_of(const QuantizeReport& report, const Calibration* c) {
  Chart chart;
  chart.title = c != nullptr ? fmt::format("Own error of each layer of '{}', {} sample{}", c->function, c->samples,
                                           c->samples == 1 ? "" : "s")
                             : "Error of each quantized weight";
  chart.axis = "SQNR (dB): a longer bar has less error";
  const std::vector<ChartRow> rows = rows_of(report, c);
  double largest = 1;
  for (const ChartRow& r : rows) {
    if (std::isfinite(r.sqnr)) largest = std::max(largest, std::min(r.sqnr, kMaxDecibels));
  }
  chart.tick = largest > 100 ? 50 : largest > 60 ? 20 : largest > 15 ? 10 : 5;
  chart.end = std::ceil(largest / chart.tick) * chart.tick;
  for (const ChartRow& r : rows) {
    const double length = std::isnan(r.sqnr) ? 0 : std::clamp(r.sqnr, 0.0, chart.end);
    chart.bars.push_back({r.name, r.format, length, text_of(r.sqnr)});
  }
  return chart;
}

void write_chart(const std::string& path, const Chart& chart) {
  const std::string text = chart_svg(chart);
  AtomicFile file(path);
  file.write(std::string_view(text));
  file.commit();
}

}  // namespace tern
