// Conversion among the types that C++ computes in; the small floats go by way of these.
#pragma once

#include <tern/dtype.h>

#include <cstdint>

namespace tern {

/// The type that elements of `t` are widened to, without loss: float32 for the small floats, complex64 for complex32,
/// else `t` itself.
DType core_of(DType t);

/// Both types are core types. As `convert`.
void convert_core(const void* src, DType from, void* dst, DType to, std::int64_t count);

}  // namespace tern
