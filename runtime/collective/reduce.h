// Elements of several ranks become one: the arithmetic of groups on the host.
#pragma once

#include <tern/collective.h>

namespace tern {

/// joined = x op y, element by element, where the reduction is defined (schema/reductions.h); for avg the sum, which
/// `finish` divides. Types of 16 bits are added as floats and rounded, as PyTorch's gloo does. NaN wins over every
/// maximum and minimum. `joined` may be x or y.
void join(ReduceOp op, DType t, void* joined, const void* x, const void* y, std::int64_t count);
/// Multiplies, in the type itself: premul_sum.
void scale(DType t, void* x, std::int64_t count, double factor);
void finish(ReduceOp op, DType t, void* joined, std::int64_t count, int ranks);

}  // namespace tern
