// Parts of a section of a function compiled by the device as a whole.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/devices/part_compiler.h"
#include "runtime/plan/concrete.h"

namespace tern {

/// Nodes of a function run as one kernel, at the position of the last node.
struct SectionPart {
  std::vector<std::uint32_t> nodes;
  std::vector<ValueId> inputs;   ///< values produced outside
  std::vector<ValueId> outputs;  ///< read outside
};

/// Asks the device about the nodes `begin` to `end` (sizes known) and divides the accepted nodes into parts.
std::vector<SectionPart> find_section_parts(PartCompiler& device, const Function& f, std::uint32_t begin,
                                            std::uint32_t end, const Concrete& concrete);

}  // namespace tern
