// Estimates by which CPU kernels choose algorithms.
#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace tern {

/// An algorithm and its estimated seconds on one thread, reorders of the image and the result included: infinite for
/// one that runs only on request, or cannot compute the node.
struct AlgorithmCost {
  AlgorithmChoice choice;
  double seconds = 0;
};

/// Returns the estimates for a call of Kernel::channels_last, or of Kernel::prepare without that function. Empty for
/// ops without estimates.
std::vector<AlgorithmCost> algorithm_costs(const KernelCall& call);

}  // namespace tern
