// Text output of a calibration with example inputs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tools/quantize/report.h"
#include "tools/quantize/worst.h"
#include "tools/text.h"
#include "tools/text_table.h"
#include "tools/verify/report.h"

namespace tern {
namespace {

/// Key of a layer, worst first: the SQNR in decibels. Layers without their own error come last.
double sort_key(const LayerError& l) {
  if (!l.isolated) return std::numeric_limits<double>::infinity();
  return l.isolated->not_finite > 0 ? -std::numeric_limits<double>::infinity() : l.isolated->sqnr();
}

std::string layers_text(const Calibration& c) {
  using Align = TextTable::Align;
  TextTable table({{"layer"},
                   {"format"},
                   {"own dB", Align::right},
                   {"cosine", Align::right},
                   {"accumulated dB", Align::right},
                   {""}});
  const std::set<const LayerError*> shown_layers = worst_of(c.layers, sort_key);
  for (const LayerError& l : c.layers) {
    if (!shown_layers.contains(&l)) continue;
    const std::int64_t nonfinite_count = l.accumulated ? l.accumulated->not_finite : 0;
    table.add_row({escape_name(l.name), l.format, l.isolated ? decibels(*l.isolated) : "-",
                   l.isolated ? fmt::format("{:.6f}", l.isolated->cosine()) : "-",
                   l.accumulated ? decibels(*l.accumulated) : "-",
                   nonfinite_count > 0 ? fmt::format("{} not finite", nonfinite_count) : ""});
  }
  return table.str() + others_text(shown_layers.size(), c.layers.size());
}

/// Text of an SQNR in decibels: infinity means no error, minus infinity or NaN means values that are not finite.
std::string decibels_text(double sqnr) {
  return std::isfinite(sqnr) ? fmt::format("{:.2f} dB", sqnr) : sqnr > 0 ? "no error" : "values that are not finite";
}

}  // namespace

std::string calibration_text(const Calibration& c) {
  std::string text = fmt::format(
      "\n'{}' on {} sample{}. Own: only the layer, on the operands of the unquantized program. Accumulated: its value "
      "in the\nquantized program.\n{}",
      escape_name(c.function), c.samples, c.samples == 1 ? "" : "s", layers_text(c));
  text += compared_text({"quantized", "floats", c.results}, 1);
  if (c.target) {
    text += fmt::format("\n--target-sqnr {:g}: {} of the worst result, after {} program{}\n", c.target->requested,
                        decibels_text(c.target->reached), c.target->trials, c.target->trials == 1 ? "" : "s");
  }
  if (c.budget)
    text += fmt::format("\n--bits {:g}: {:.3f} bits for each number of the weights\n", c.budget->requested,
                        c.budget->reached);
  return text + "\n";
}

/// Error message for a target that no tried choice meets. `narrowed`: --precision is given, too.
std::string missed_target(const Calibration& c, bool narrowed) {
  const SqnrTarget& t = *c.target;
  std::string closest, formats;
  for (const QuantizedWeight& w : c.weights.weights)
    closest += fmt::format("{}'{}' in {}", closest.empty() ? "" : ", ", escape_name(w.name), w.format);
  for (const std::string& f : t.formats) formats += (formats.empty() ? "" : ", ") + f;
  std::vector<std::string> suggestions;
  if (std::isfinite(t.reached))
    suggestions.push_back(fmt::format("ask for at most {:.1f}", std::floor(t.reached * 10) / 10));
  if (narrowed) suggestions.emplace_back("leave out --precision, which rounds too");
  if (std::ranges::find(t.formats, "int8") == t.formats.end())
    suggestions.emplace_back("add int8 to the formats of --quantize");
  std::string advice;
  for (const std::string& suggestion : suggestions)
    advice += (advice.empty() ? ". Possible remedies: " : ", or ") + suggestion;
  return fmt::format("--target-sqnr {:g} is not reached with any weight in {}. {}{}. Nothing was written", t.requested,
                     formats,
                     closest.empty() ? fmt::format("All weights as they are: {}", decibels_text(t.reached))
                                     : fmt::format("The closest: {} with {}", decibels_text(t.reached), closest),
                     advice);
}

}  // namespace tern
