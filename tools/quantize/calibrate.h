// What example inputs say of a quantized program, and the formats that follow from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/quantize/layers.h"
#include "tools/quantize/options.h"
#include "tools/verify/results.h"

namespace tern {

struct SqnrTarget {
  double asked = 0, reached = 0;     ///< decibels, of the worst result
  bool met = false;                  ///< else `reached` is the closest that was found with a quantized weight
  std::vector<std::string> formats;  ///< of the first ladder
  std::size_t trials = 0;
};

struct Calibration {
  std::string function;
  std::size_t samples = 0;
  QuantizeChoices choices;  ///< for the export
  QuantizeReport weights;   ///< what they make of the weights
  std::vector<LayerError> layers;
  std::vector<ResultDeviation> results;  ///< of the exported program against the program of floats, all samples as one
  std::optional<SqnrTarget> target;
};

/// Reads the samples, runs the program as floats and quantized, and chooses formats if there is a target. Where no
/// weight can be quantized, the report of the weights says why and the rest is empty.
Calibration calibrate(const FloatProgram& program, const std::vector<FormatLadder>& formats,
                      const QuantizeArguments& arguments);

}  // namespace tern
