// Registers of 16 bytes, in the compiler's notation: SSE2, and what nobody has written a file for.
namespace tern::simd {
namespace {

constexpr int kLanes = 4, kRegisters = 16;
#include "kernels/cpu/simd/registers.h"

#include "kernels/cpu/simd/partial.h"

#include "kernels/cpu/simd/half_bits.h"

/// a * b + c in each lane, rounded twice.
template <class V>
[[gnu::always_inline]] inline V fused(V a, V b, V c) {
  return a * b + c;
}
template <class V>
[[gnu::always_inline]] inline V fused(float a, V b, V c) {
  return a * b + c;
}

}  // namespace
}  // namespace tern::simd
