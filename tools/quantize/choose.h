// Formats for weights, so that the results keep an SQNR at the fewest bytes.
#pragma once

#include <vector>

#include "tools/quantize/effects.h"

namespace tern {

struct ChosenFormats {
  QuantizeChoices choices;  ///< of all weights that could be quantized
  bool met = false;         ///< else no choice with a quantized weight does; this one comes closest, of those tried
  double sqnr = 0;          ///< of the worst result, as exported
  std::size_t trials = 0;   ///< programs that were run to find it
};

/// All weights start with their fewest bytes and are raised in raising_order(); by bisection it takes the fewest raises
/// with which all results of the exported program keep `target` decibels. So a higher target never makes a weight
/// smaller. Weights that the samples do not reach get the format with the smallest rounding error.
ChosenFormats choose_formats(const FloatProgram& program, const Ladders& ladders, const OutputErrors& outputs,
                             const std::vector<WeightEffect>& effects, double target, const OnStep& on_step);

}  // namespace tern
