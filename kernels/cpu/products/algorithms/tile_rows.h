// Products in bfloat16 with a weight that was packed for matrix tiles.
#pragma once

#include <memory>

#include "kernels/cpu/products/choose.h"
#include "kernels/cpu/products/tiles/split_driver.h"

namespace tern::cpu {

/// True for operands that may be rounded to bfloat16, or are bfloat16, with a constant weight.
bool takes_tile_rows(const ProductProperties& p);
/// Null where it is not.
std::unique_ptr<PreparedAlgorithm> prepare_tile_rows(const ProductProperties& p);

}  // namespace tern::cpu
