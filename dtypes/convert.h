// Contiguous runs of elements from any type to any other.
#pragma once

#include <tern/dtype.h>

#include <cstdint>

#include "dtypes/overflow.h"

namespace tern {

/// Converts `count` elements as cast_to (cast.h) does each: the results are PyTorch's on a CPU. Both runs are aligned
/// for their elements and do not overlap. The same type on both sides copies the bytes. A byte of a boolean source that
/// is neither 0 nor 1 counts as true. float4_e2m1fn_x2 starts at the low four bits of its first byte; where `count` is
/// odd the last four bits written are zero. Fails (invalid_argument) for DType::invalid and a negative count.
void convert(const void* src, DType from, void* dst, DType to, std::int64_t count,
             Overflow policy = Overflow::saturate);

/// Bytes that `count` contiguous elements take. `count` must be one that memory can hold.
std::int64_t run_bytes(DType dtype, std::int64_t count);

}  // namespace tern
