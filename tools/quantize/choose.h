// Chooses formats for weights: an SQNR of the results at the fewest bytes.
#pragma once

#include <vector>

#include "tools/quantize/effects.h"

namespace tern {

struct ChosenFormats {
  QuantizeChoices choices;  ///< choices of all quantizable weights
  bool met = false;         ///< false: no choice with a quantized weight meets the target; `choices` is the closest
                            ///< choice tried
  double sqnr = 0;          ///< SQNR of the worst result of the exported program
  std::size_t trials = 0;   ///< programs run during the search
};

/// All weights start with their fewest bytes and are raised in raising_order(); bisection finds the fewest raises
/// keeping `target` decibels in all results of the exported program. A higher target thus never makes a weight smaller.
/// Weights not reached by the samples get the format with the smallest rounding error.
ChosenFormats choose_formats(const FloatProgram& program, const Ladders& ladders, const OutputErrors& outputs,
                             const std::vector<WeightEffect>& effects, double target, const OnStep& on_step);

}  // namespace tern
