// Conversion among the compute types of C++; small floats convert through these types.
#pragma once

#include <tern/dtype.h>

#include <cstdint>

namespace tern {

/// The lossless wider type of elements of `t`: float32 for the small floats, complex64 for complex32, else `t` itself.
DType core_of(DType t);

/// Converts like `convert`. Both types are core types.
void convert_core(const void* src, DType from, void* dst, DType to, std::int64_t count);

}  // namespace tern
