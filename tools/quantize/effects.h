// Contribution of each weight to the error of the results, in each format of the weight.
#pragma once

#include <vector>

#include "tools/quantize/ladders.h"
#include "tools/quantize/layers.h"
#include "tools/quantize/outputs.h"
#include "tools/quantize/raising_order.h"

namespace tern {

struct WeightEffect {
  std::vector<Rung> rungs;  ///< a rung for each format of the ladder, then floats (no error)
  std::vector<double>
      relative_errors;  ///< energy of the layers' own errors over the energy of their values; empty: not measured
  bool reached = true;  ///< the samples reach the weight
};

/// Runs the program once for each weight, quantized alone to the format with the fewest bytes. The noise of the other
/// formats is scaled by the own error of the weight's layers, or by the rounding error if the own error is unknown.
std::vector<WeightEffect> weight_effects(const FloatProgram& program, const Ladders& ladders,
                                         const OutputErrors& outputs, const Calls& calls, const OnStep& on_step);

}  // namespace tern
