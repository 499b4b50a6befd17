// tern bench and tern verify: the measured gain of --precision auto and of tern export --tune.
#pragma once

#include <tern/tern.h>

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/options.h"
#include "tools/verify/side.h"

namespace tern {

/// Measured gains: none; `cheap`, the precision if runs are short; or all, with a search of algorithms.
enum class GainsChoice : std::uint8_t { none, cheap, full };

/// Adds --gains.
void add_gains_option(Command command, GainsChoice& choice);

/// Two ways to run a function, measured in turns; seconds are medians.
struct PrecisionGain {
  Precision precision = Precision::exported;  ///< precision of products in the second way
  double seconds_before = 0, seconds_after = 0;
  double sqnr = 0;           ///< SQNR in dB of the least exact result, against the first way; finite
  double largest_error = 0;  ///< largest error of an element of that result, as a share of its largest magnitude
};

/// The gain by the algorithms that `tern export --tune` would choose. Results keep their precision.
struct TuneGain {
  double seconds_before = 0, seconds_after = 0;  ///< seconds of a run of all entry functions
  std::size_t kinds = 0;                         ///< number of kinds of nodes with another algorithm
  bool complete = true;                          ///< every algorithm was tried
};

struct Gains {
  std::optional<PrecisionGain> precision;  ///< empty if not measured, or if no result changes
  std::optional<TuneGain> tune;            ///< empty if not measured
};

/// Seconds of one run with copies of the inputs.
double seconds_of_run(const Side& program_side, Session& session, const std::vector<Tensor>& inputs);

/// Runs `exported_side` and a copy of it with `precision` in turns, for about a second. Empty if the precision changes
/// no result, or if `median_seconds` of a run are too long for a cheap measurement.
std::optional<PrecisionGain> measure_precision(const Side& exported_side, Precision precision,
                                               const std::vector<Tensor>& inputs, double median_seconds);

/// Measures the chosen gains on the CPU. `exported_side` runs as exported; a run that already has another precision has
/// no gain of precision.
Gains measure_gains(const Side& exported_side, GainsChoice choice, const std::vector<Tensor>& inputs,
                    double median_seconds);

/// A line for each option that takes at least 3 % less time; empty without gains.
std::string gains_text(const Gains& gains);
/// Every measured gain, and null for the others.
nlohmann::ordered_json gains_json(const Gains& gains);

}  // namespace tern
