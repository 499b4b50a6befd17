#include "tools/quantize/ladders.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tern {
namespace {

/// All parts of a weight.
struct WeightTotal {
  std::uint64_t original_bytes = 0, elements = 0;
  WeightFormat format;
};

std::map<std::string, WeightTotal> weight_totals(const QuantizeReport& report) {
  std::map<std::string, WeightTotal> totals;
  for (const QuantizedWeight& w : report.weights) {
    WeightTotal& total = totals[w.source];
    total.original_bytes += w.bytes_before;
    total.elements += static_cast<std::uint64_t>(w.rows * w.columns);
    total.format.recipe = w.recipe;
    total.format.bytes += w.bytes_after;
    total.format.noise = std::max(total.format.noise, std::pow(10.0, -w.sqnr / 10));
  }
  return totals;
}

}  // namespace

Ladders ladders_of(const FloatProgram& program, const std::vector<FormatLadder>& formats) {
  Ladders ladders;
  for (std::size_t rung = 0; rung < rungs_of(formats); ++rung) {
    const QuantizeReport& report = ladders.reports.emplace_back(program.quantized_by(rules_at(formats, rung)));
    std::map<std::string, WeightTotal> totals = weight_totals(report);
    for (const QuantizedWeight& w : report.weights) {
      const WeightTotal& total = totals.at(w.source);
      auto ladder = std::ranges::find(ladders.weights, w.source, &WeightLadder::source);
      if (ladder == ladders.weights.end())
        ladder = ladders.weights.insert(ladder, WeightLadder{w.source, total.original_bytes, total.elements, {}});
      if (format_number(*ladder, w.recipe) < 0) ladder->formats.push_back(total.format);
    }
  }
  return ladders;
}

int format_number(const WeightLadder& ladder, const quantize::Recipe& recipe) {
  const auto found = std::ranges::find(ladder.formats, recipe, &WeightFormat::recipe);
  return found == ladder.formats.end() ? -1 : static_cast<int>(found - ladder.formats.begin());
}

}  // namespace tern
