// Calls of every kind, type and reduction, the same on all ranks, and what a rank gets of them.
#pragma once

#include <tern/collective.h>

#include <cstddef>
#include <vector>

namespace tern::testing {

/// The results of all calls, one after the other.
std::vector<std::vector<std::byte>> run_battery(ProcessGroup& group);

}  // namespace tern::testing
