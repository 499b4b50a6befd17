// Products in bfloat16 on matrix tiles with a weight of bfloat16 that is read where it lies.
#pragma once

#include <memory>

#include "kernels/cpu/products/choose.h"

namespace tern::cpu {

/// True for rows that may be rounded to bfloat16, or are bfloat16, with a constant weight of that
/// type.
bool can_use_tiles_in_place(const ProductProperties& p);
/// Null where it is not.
std::unique_ptr<PreparedAlgorithm> prepare_tiles_in_place(const ProductProperties& p);

}  // namespace tern::cpu
