// The options of `tern export` for quantizing weights, and for the sample data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exporter/passes/quantize/options.h"
#include "tools/options.h"

namespace tern {

struct QuantizeArguments {
  std::vector<std::string> formats;  ///< FORMAT[,FORMAT...][:PATTERN]
  std::string rule, mx_scales, scales, activations;
  std::optional<int> group;
  bool awq = false;                    ///< columns take scales that preceding nodes absorb
  std::vector<std::string> calibrate;  ///< FILE, FOLDER or NAME=FILE
  std::string function;                ///< function of the sample data
  std::optional<double> target;        ///< decibels
  std::optional<double> bits;          ///< mean bits of a weight
  bool draws = false;                  ///< true with --report
  std::string chart;                   ///< FILE.svg; empty: in the terminal

  /// True if any weight may be quantized.
  bool is_enabled() const { return !formats.empty() || chooses(); }
  /// True if the samples choose the formats.
  bool chooses() const { return target.has_value() || bits.has_value(); }
};

/// Adds --quantize and its dependent options.
void add_quantize_options(Command command, QuantizeArguments& arguments);

/// Alternative formats for the same weights; a single format if there is no choice.
struct FormatLadder {
  std::vector<quantize::Recipe> recipes;  ///< formats in the order of the option
  std::string pattern;                    ///< see QuantizeRule::pattern
};

/// Fails (invalid_argument) for wrong options, and for options of formats not requested.
std::vector<FormatLadder> parse_quantize(const QuantizeArguments& arguments);

/// Rules with format number `rung` of each ladder, or the ladder's last format.
std::vector<QuantizeRule> rules_at(const std::vector<FormatLadder>& ladders, std::size_t rung);
/// Number of rungs of the longest ladder.
std::size_t rungs_of(const std::vector<FormatLadder>& ladders);

}  // namespace tern
