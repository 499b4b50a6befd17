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

/// Smaller is worse; layers without their own error come last.
double rank(const LayerError& l) {
  if (!l.own) return std::numeric_limits<double>::infinity();
  return l.own->not_finite > 0 ? -std::numeric_limits<double>::infinity() : l.own->sqnr();
}

std::string layers_text(const Calibration& c) {
  using Align = TextTable::Align;
  TextTable table({{"layer"},
                   {"format"},
                   {"own dB", Align::right},
                   {"cosine", Align::right},
                   {"accumulated dB", Align::right},
                   {""}});
  const std::set<const LayerError*> shown = worst_of(c.layers, rank);
  for (const LayerError& l : c.layers) {
    if (!shown.contains(&l)) continue;
    const std::int64_t odd = l.accumulated ? l.accumulated->not_finite : 0;
    table.add_row({escape_name(l.name), l.format, l.own ? decibels(*l.own) : "-",
                   l.own ? fmt::format("{:.6f}", l.own->cosine()) : "-", l.accumulated ? decibels(*l.accumulated) : "-",
                   odd > 0 ? fmt::format("{} not finite", odd) : ""});
  }
  return table.str() + others_text(shown.size(), c.layers.size());
}

std::string decibels_text(double v) {
  return std::isfinite(v) ? fmt::format("{:.2f} dB", v) : v > 0 ? "no error" : "values that are not finite";
}

}  // namespace

std::string calibration_text(const Calibration& c) {
  std::string text = fmt::format(
      "\n'{}' on {} sample{}. Own: only the layer, on the operands of the unquantized program. Accumulated: its value "
      "in the\nquantized program.\n{}",
      escape_name(c.function), c.samples, c.samples == 1 ? "" : "s", layers_text(c));
  text += compared_text({"quantized", "floats", c.results}, 1);
  if (c.target) {
    text += fmt::format("\n--target-sqnr {:g}: {} of the worst result, after {} program{}\n", c.target->asked,
                        decibels_text(c.target->reached), c.target->trials, c.target->trials == 1 ? "" : "s");
  }
  return text + "\n";
}

std::string missed_target(const Calibration& c, bool narrowed) {
  const SqnrTarget& t = *c.target;
  std::string closest, formats;
  for (const QuantizedWeight& w : c.weights.weights)
    closest += fmt::format("{}'{}' in {}", closest.empty() ? "" : ", ", escape_name(w.name), w.format);
  for (const std::string& f : t.formats) formats += (formats.empty() ? "" : ", ") + f;
  std::vector<std::string> ways;
  if (std::isfinite(t.reached)) ways.push_back(fmt::format("ask for at most {:.1f}", std::floor(t.reached * 10) / 10));
  if (narrowed) ways.emplace_back("leave out --precision, which rounds too");
  if (std::ranges::find(t.formats, "int8") == t.formats.end())
    ways.emplace_back("add int8 to the formats of --quantize");
  std::string advice;
  for (const std::string& way : ways) advice += (advice.empty() ? ". Possible remedies: " : ", or ") + way;
  return fmt::format("--target-sqnr {:g} is not reached with any weight in {}. {}{}. Nothing was written", t.asked,
                     formats,
                     closest.empty() ? fmt::format("All weights as they are: {}", decibels_text(t.reached))
                                     : fmt::format("The closest: {} with {}", decibels_text(t.reached), closest),
                     advice);
}

}  // namespace tern
