// Choices of the sessions' plans for their nodes.
#pragma once

#include <tern/dtype.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "runtime/prepared.h"

namespace tern {

struct ChosenKernel {
  std::string algorithm;        ///< name in kernels/algorithm.h; empty for kernels without algorithms
  DType products = DType::f32;  ///< type of the operands as the kernel multiplies or combines them
};

/// The choices by name of the function and number of the node, of all plans made so far. A node planned for several
/// sizes has the choice of one of them.
std::map<std::pair<std::string, std::uint32_t>, ChosenKernel> chosen_kernels(const PreparedProgram& prepared);

}  // namespace tern
