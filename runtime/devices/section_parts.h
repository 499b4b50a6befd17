// The parts of one section of a function that a device compiles as a whole.
#pragma once

#include "runtime/devices/partition.h"
#include "runtime/plan/concrete.h"

namespace tern {

/// Asks the device about the nodes `begin` to `end`, whose sizes are known, and divides what it takes into parts.
std::vector<Part> find_section_parts(const Device& device, const Function& f, std::uint32_t begin, std::uint32_t end,
                                     const Concrete& concrete);

}  // namespace tern
