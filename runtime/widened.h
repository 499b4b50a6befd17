// Finds runs that convert whole weights of small elements to floats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/prepared.h"

namespace tern {

/// A node reading a weight or a quantized value only after conversion to floats.
struct WidenedNode {
  std::string function;
  std::uint32_t node = 0;
  std::string op, module;   ///< of the exported program
  std::string weight;       ///< the state; empty for a value computed in the run
  std::uint64_t bytes = 0;  ///< of floats; 0: not known before a run
  bool once = false;        ///< true: converted during preparation; false: converted in each run
};

/// Nodes that dequantize, in order, independent of the device.
std::vector<WidenedNode> widened_by_nodes(const Program& program);
/// Conversions in the sessions' plans on their device: nodes that dequantize, and kernels that first convert a weight
/// to floats.
std::vector<WidenedNode> widened_by_plans(const PreparedProgram& prepared);

}  // namespace tern
