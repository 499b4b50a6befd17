// The error of each layer (a node reading quantized weights).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/quantize/float_program.h"
#include "tools/verify/nodes.h"

namespace tern {

struct LayerError {
  WeightReader node;                  ///< node of the float program
  std::string name;                   ///< the module path, or the weight's name; unique among the layers
  std::string function;               ///< name of the function
  std::string op, source;             ///< "matmul"; "model.py:42"
  std::string weight, weight_source;  ///< see QuantizedWeight::name and source
  std::string format;
  /// Deviations over all samples. Empty for layers in another function or in a body; `isolated` is also empty for
  /// layers unable to run alone.
  std::optional<Deviation> isolated;     ///< the layer alone, on the operands of the program of floats
  std::optional<Deviation> accumulated;  ///< deviation of the layer's value in the quantized program
};

using OnStep = std::function<void(std::size_t done, std::size_t total)>;

/// Layer errors in program order. `report` lists the quantized weights.
std::vector<LayerError> layer_errors(const FloatProgram& program, const QuantizeReport& report, const Calls& calls,
                                     const OnStep& on_step);

}  // namespace tern
