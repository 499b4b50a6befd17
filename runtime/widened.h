// Finds conversions of whole weights of small elements to floats during runs.
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
  std::string op, module;   ///< op and module of the exported program
  std::string weight;       ///< the state; empty for a value computed in the run
  std::uint64_t bytes = 0;  ///< bytes of floats; 0: not known before a run
  bool once = false;        ///< true: converted during preparation; false: converted in each run
};

/// Dequantizing nodes, in order, independent of the device.
std::vector<WidenedNode> widened_by_nodes(const Program& program);
/// Conversions in the sessions' plans on their device: dequantizing nodes, and kernels converting a weight to floats
/// first.
std::vector<WidenedNode> widened_by_plans(const PreparedProgram& prepared);

}  // namespace tern
