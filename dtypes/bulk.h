// Converts runs of small floats to and from float32, vectorised for the current processor. The results equal the scalar
// conversions on every processor.
#pragma once

#include <cstdint>

#include "dtypes/overflow.h"
#include "dtypes/small_float.h"

namespace tern {

// The two runs must not overlap.
template <class T>
void decode_run(const T* src, float* dst, std::int64_t count);
template <class T>
void encode_run(const float* src, T* dst, std::int64_t count, Overflow policy);

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define TERN_BULK_EXTERN(T)                                        \
  extern template void decode_run(const T*, float*, std::int64_t); \
  extern template void encode_run(const float*, T*, std::int64_t, Overflow);
// NOLINTEND(bugprone-macro-parentheses)
TERN_BULK_EXTERN(Half)
TERN_BULK_EXTERN(BFloat16)
TERN_BULK_EXTERN(F8E4M3FN)
TERN_BULK_EXTERN(F8E5M2)
TERN_BULK_EXTERN(F8E4M3FNUZ)
TERN_BULK_EXTERN(F8E5M2FNUZ)
TERN_BULK_EXTERN(F8E8M0)
TERN_BULK_EXTERN(F6E2M3)
TERN_BULK_EXTERN(F6E3M2)
TERN_BULK_EXTERN(F4E2M1)
#undef TERN_BULK_EXTERN

}  // namespace tern
