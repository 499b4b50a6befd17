// Compiles a program's kernels for a target's devices, and adds them to the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exporter/kernels/record.h"
#include "exporter/kernels/targets.h"
#include "schema/program.h"

namespace tern {

struct KernelReport {
  std::size_t kernels = 0;            ///< modules added
  std::uint64_t bytes = 0;            ///< of theirs
  std::vector<std::string> left_out;  ///< kinds of devices unable to run the program, with reasons
};

/// Fails if none of the target's kinds of devices can run the program.
KernelReport add_kernels(Program& program, const KernelTarget& target, const SymbolSizes& sizes);

}  // namespace tern
