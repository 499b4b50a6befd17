// The formats that each weight can get, of those that the options list.
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
  double noise = 0;  ///< energy of the weight's rounding error over that of the weight
};

struct WeightLadder {
  std::string source;  ///< as QuantizedWeight::source; its parts count together
  std::uint64_t floats = 0;
  std::vector<WeightFormat> formats;  ///< as the option lists them, those that suit the weight; at least one
};

struct Ladders {
  std::vector<WeightLadder> weights;
  std::vector<QuantizeReport> reports;  ///< for each rung, of all weights at once
};

Ladders ladders_of(const FloatProgram& program, const std::vector<FormatLadder>& formats);

/// Number of the weight's format in its ladder, or -1.
int format_number(const WeightLadder& ladder, const quantize::Recipe& recipe);

}  // namespace tern
