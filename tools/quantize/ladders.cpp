#include "tools/quantize/ladders.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tern {
namespace {

/// All parts of a weight.
struct Whole {
  std::uint64_t before = 0, elements = 0;
  WeightFormat format;
};

std::map<std::string, Whole> wholes_of(const QuantizeReport& report) {
  std::map<std::string, Whole> wholes;
  for (const QuantizedWeight& w : report.weights) {
    Whole& whole = wholes[w.source];
    whole.before += w.before;
    whole.elements += static_cast<std::uint64_t>(w.rows * w.columns);
    whole.format.recipe = w.recipe;
    whole.format.bytes += w.after;
    whole.format.noise = std::max(whole.format.noise, std::pow(10.0, -w.sqnr / 10));
  }
  return wholes;
}

}  // namespace

Ladders ladders_of(const FloatProgram& program, const std::vector<FormatLadder>& formats) {
  Ladders ladders;
  for (std::size_t rung = 0; rung < rungs_of(formats); ++rung) {
    const QuantizeReport& report = ladders.reports.emplace_back(program.quantized_by(rules_at(formats, rung)));
    std::map<std::string, Whole> wholes = wholes_of(report);
    for (const QuantizedWeight& w : report.weights) {
      const Whole& whole = wholes.at(w.source);
      auto at = std::ranges::find(ladders.weights, w.source, &WeightLadder::source);
      if (at == ladders.weights.end())
        at = ladders.weights.insert(at, WeightLadder{w.source, whole.before, whole.elements, {}});
      if (format_number(*at, w.recipe) < 0) at->formats.push_back(whole.format);
    }
  }
  return ladders;
}

int format_number(const WeightLadder& ladder, const quantize::Recipe& recipe) {
  const auto found = std::ranges::find(ladder.formats, recipe, &WeightFormat::recipe);
  return found == ladder.formats.end() ? -1 : static_cast<int>(found - ladder.formats.begin());
}

}  // namespace tern
