// Products in bfloat16 with a weight that was packed for matrix tiles.
#pragma once

#include <memory>

#include "kernels/cpu/amx/linear.h"
#include "kernels/cpu/matmul/algorithms.h"

namespace tern::cpu {

/// Null where the product is not of one part, or where the weight has not been kept so: then it is offered.
std::unique_ptr<PreparedAlgorithm> product_of_packed_rows(const Product& p, const amx::LinearShape& shape);

}  // namespace tern::cpu
