// The available formats of each weight, a subset of the options' formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/quantize/float_program.h"
#include "tools/quantize/options.h"

namespace tern {

struct WeightFormat {
  quantize::Recipe recipe;
  std::uint64_t bytes = 0;
  double noise = 0;  ///< energy of the weight's rounding error over the energy of the weight
};

struct WeightLadder {
  std::string source;        ///< see QuantizedWeight::source; its parts count together
  std::uint64_t floats = 0;  ///< bytes
  std::uint64_t elements = 0;
  std::vector<WeightFormat> formats;  ///< formats suitable for the weight, in the option's order; at least one
};

struct Ladders {
  std::vector<WeightLadder> weights;
  std::vector<QuantizeReport> reports;  ///< a report of all weights for each rung
};

Ladders ladders_of(const FloatProgram& program, const std::vector<FormatLadder>& formats);

/// Number of the weight's format in its ladder, or -1.
int format_number(const WeightLadder& ladder, const quantize::Recipe& recipe);

}  // namespace tern
