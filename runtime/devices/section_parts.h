// The parts of one section of a function that a device compiles as a whole.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/devices/part_compiler.h"
#include "runtime/plan/concrete.h"

namespace tern {

/// Nodes of a function that run as one, at the place of the last.
struct Part {
  std::vector<std::uint32_t> nodes;
  std::vector<ValueId> inputs;   ///< from outside
  std::vector<ValueId> outputs;  ///< read outside
};

/// Asks the device about the nodes `begin` to `end`, whose sizes are known, and divides what it takes into parts.
std::vector<Part> find_section_parts(PartCompiler& device, const Function& f, std::uint32_t begin, std::uint32_t end,
                                     const Concrete& concrete);

}  // namespace tern
