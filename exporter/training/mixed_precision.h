// Mixed precision (Micikevicius et al., 2018), like torch.autocast: products, convolutions and attention read and give
// 16-bit floats, and simple operators between them keep 16 bits; parameters, sums, norms and losses stay float32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schema/program.h"

namespace tern {

/// Computes the function's float32 products, convolutions and attention in `narrow_dtype` (bfloat16 or float16).
/// Operators of PyTorch's autocast without a list of their own, such as relu and add, round their results to
/// `narrow_dtype` if all their operands are narrow. Bodies of control flow stay as they are. Returns the number of
/// changed products.
std::size_t narrow_products(Program& program, std::uint32_t function, DType narrow_dtype);

}  // namespace tern
