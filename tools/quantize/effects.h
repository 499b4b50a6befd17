// What each weight adds to the error of the results, in each of its formats.
#pragma once

#include <vector>

#include "tools/quantize/ladders.h"
#include "tools/quantize/layers.h"
#include "tools/quantize/outputs.h"
#include "tools/quantize/raising_order.h"

namespace tern {

struct WeightEffect {
  std::vector<Rung> rungs;  ///< one for each format of the ladder, then floats, which add nothing
  std::vector<double> own;  ///< energy of the layers' own errors over that of their values; empty: not measured
  bool reached = true;      ///< the samples tell something about the weight
};

/// Runs the program once for each weight, quantized alone to the format with the fewest bytes. Its other formats are
/// taken to add as much less as the own error of its layers is smaller, or its rounding error where those are unknown.
std::vector<WeightEffect> weight_effects(const FloatProgram& program, const Ladders& ladders,
                                         const OutputErrors& outputs, const Calls& calls, const OnStep& on_step);

}  // namespace tern
