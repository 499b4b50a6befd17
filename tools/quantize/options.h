// The options of `tern export` that say how weights are quantized, and by what data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exporter/passes/quantize/options.h"

namespace CLI {
class App;
}

namespace tern {

struct QuantizeArguments {
  std::vector<std::string> formats;  ///< FORMAT[,FORMAT...][:PATTERN]
  std::string mx_scales, scales, activations;
  std::optional<int> group;
  std::vector<std::string> calibrate;  ///< FILE, FOLDER or NAME=FILE
  std::string function;                ///< that the data is for
  std::optional<double> target;        ///< decibels
  bool draws = false;                  ///< --report is there
  std::string chart;                   ///< FILE.svg; empty: in the terminal

  /// Whether weights are to be quantized at all.
  bool any() const { return !formats.empty() || target.has_value(); }
};

/// Adds --quantize and all that goes with it.
void add_quantize_options(CLI::App* command, QuantizeArguments& arguments);

/// Formats that the same weights may get; one where nothing is to be chosen.
struct FormatLadder {
  std::vector<quantize::Recipe> recipes;  ///< in the order of the option
  std::string pattern;                    ///< as QuantizeRule::pattern
};

/// Fails (invalid_argument) where an option is wrong, or is for formats that are not asked for.
std::vector<FormatLadder> parse_quantize(const QuantizeArguments& arguments);

/// Rules with the format of number `rung` of each ladder, or its last one.
std::vector<QuantizeRule> rules_at(const std::vector<FormatLadder>& ladders, std::size_t rung);
/// How many rungs the longest ladder has.
std::size_t rungs_of(const std::vector<FormatLadder>& ladders);

}  // namespace tern
