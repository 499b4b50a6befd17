// Estimates of the algorithms of matmul.
#pragma once

#include <vector>

#include "kernels/algorithm_costs.h"

namespace tern::cpu {

std::vector<AlgorithmCost> product_costs(const KernelCall& call);

}  // namespace tern::cpu
