// The error of each layer: of the nodes that read quantized weights.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/quantize/float_program.h"
#include "tools/verify/nodes.h"

namespace tern {

struct LayerError {
  WeightReader node;                  ///< of the program of floats
  std::string name;                   ///< its module path, or the weight's name; no two layers share it
  std::string function;               ///< its name
  std::string op, source;             ///< "matmul"; "model.py:42"
  std::string weight, weight_source;  ///< as QuantizedWeight::name and source
  std::string format;
  /// Over all samples. None of a layer in another function or in a body, and `own` of none that cannot run alone.
  std::optional<Deviation> own;          ///< the layer alone, on the operands of the program of floats
  std::optional<Deviation> accumulated;  ///< its value in the quantized program
};

using OnStep = std::function<void(std::size_t done, std::size_t total)>;

/// In program order. `report` says which weights are quantized.
std::vector<LayerError> layer_errors(const FloatProgram& program, const QuantizeReport& report, const Calls& calls,
                                     const OnStep& on_step);

}  // namespace tern
