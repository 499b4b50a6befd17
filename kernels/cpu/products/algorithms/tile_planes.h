// Products in bfloat16 whose weight is no constant: each run packs it.
#pragma once

#include <memory>

#include "kernels/cpu/products/choose.h"

namespace tern::cpu {

/// Null unless operands may be rounded to bfloat16, or are bfloat16, and planes are worth packing.
std::unique_ptr<PreparedAlgorithm> prepare_tile_planes(const ProductProperties& p);

}  // namespace tern::cpu
