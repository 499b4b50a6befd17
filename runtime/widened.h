// Where runs make floats of whole weights of small elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/prepared.h"

namespace tern {

/// A node that does not read a weight, or a quantized value, in its own bits.
struct WidenedNode {
  std::string function;
  std::uint32_t node = 0;
  std::string op, module;   ///< of the exported program
  std::string weight;       ///< the state; empty for a value that a run makes
  std::uint64_t bytes = 0;  ///< of floats; 0: not known before a run
  bool once = false;        ///< when the program is prepared; else in each run
};

/// Whatever the device: nodes that dequantize, in order.
std::vector<WidenedNode> widened_by_nodes(const Program& program);
/// What the plans that sessions have made do on their device: those nodes, and kernels that make such floats first.
std::vector<WidenedNode> widened_by_plans(const PreparedProgram& prepared);

}  // namespace tern
