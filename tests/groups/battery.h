// Calls of every kind, type and reduction, equal on all ranks, with the results of a rank.
#pragma once

#include <tern/collective.h>

#include <cstddef>
#include <vector>

namespace tern::testing {

/// Concatenated results of all calls.
std::vector<std::vector<std::byte>> run_battery(ProcessGroup& group);

}  // namespace tern::testing
