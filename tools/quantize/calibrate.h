// Calibration of a quantized program with example inputs, and the resulting formats.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/quantize/layers.h"
#include "tools/quantize/options.h"
#include "tools/verify/results.h"

namespace tern {

struct SqnrTarget {
  double requested = 0, reached = 0;  ///< decibels, of the worst result
  bool met = false;                   ///< false: `reached` is the closest found with a quantized weight
  std::vector<std::string> formats;   ///< formats of the first ladder
  std::size_t trials = 0;
};

struct BitBudget {
  double requested = 0, reached = 0;  ///< bits for each number of the quantizable weights
  std::vector<std::string> formats;   ///< formats of the first ladder
};

struct Calibration {
  std::string function;
  std::size_t samples = 0;
  QuantizeChoices choices;                        ///< choices for the export
  std::shared_ptr<const SampleData> sample_data;  ///< facts from the samples for the export
  QuantizeReport weights;                         ///< report of the weights under these choices
  std::vector<LayerError> layers;
  std::vector<ResultDeviation> results;  ///< deviation of the exported program from the float program, all samples
                                         ///< together
  std::optional<SqnrTarget> target;
  std::optional<BitBudget> budget;
};

/// Reads the samples, runs the float program and the quantized program, and chooses formats if a target is set. If no
/// weight can be quantized, the report of the weights gives the reason and the other members are empty.
Calibration calibrate(FloatProgram program, const std::vector<FormatLadder>& formats,
                      const QuantizeArguments& arguments);

}  // namespace tern
