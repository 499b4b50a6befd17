// Arithmetic of reductions on the host.
#pragma once

#include <tern/collective.h>

namespace tern {

/// joined = x op y, element by element, as defined in schema/reductions.h; avg adds, and `finish` divides. 16-bit types
/// are added as floats and rounded, as in PyTorch's gloo. NaN wins every maximum and minimum. `joined` may be x or y.
void join(ReduceOp op, DType t, void* joined, const void* x, const void* y, std::int64_t count);
/// Multiplies in the type itself: premul_sum.
void scale(DType t, void* x, std::int64_t count, double factor);
void finish(ReduceOp op, DType t, void* joined, std::int64_t count, int ranks);

}  // namespace tern
