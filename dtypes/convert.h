// Contiguous runs of elements from any type to any other.
#pragma once

#include <tern/dtype.h>

#include <cstdint>

#include "dtypes/overflow.h"

namespace tern {

/// Converts `count` elements, each like cast_to (cast.h): the results are PyTorch's on a CPU. Both runs are aligned for
/// their elements and do not overlap. Equal types copy the bytes. Bytes other than 0 and 1 of a boolean source count as
/// true. float4_e2m1fn_x2 starts at the low four bits of its first byte; for odd `count` the last four bits written are
/// zero. Fails (invalid_argument) for DType::invalid and a negative count.
void convert(const void* src, DType from, void* dst, DType to, std::int64_t count,
             Overflow policy = Overflow::saturate);

/// Bytes of `count` contiguous elements. `count` must fit in memory.
std::int64_t run_bytes(DType dtype, std::int64_t count);

}  // namespace tern
