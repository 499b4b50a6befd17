// aarch64: 32 registers of 16 bytes, fused multiply-adds, conversions of halves.
#include <arm_neon.h>

namespace tern::simd {
namespace {

constexpr int kLanes = 4, kRegisters = 32;
#include "kernels/cpu/simd/registers.h"

#include "kernels/cpu/simd/partial.h"

/// a * b + c in each lane, rounded once.
template <class V>
[[gnu::always_inline]] inline V fused(V a, V b, V c) {
  if constexpr (sizeof(V) == 16) return vfmaq_f32(c, a, b);
  return a * b + c;
}
template <class V>
[[gnu::always_inline]] inline V fused(float a, V b, V c) {
  if constexpr (sizeof(V) == 16) return vfmaq_n_f32(c, b, a);
  return a * b + c;
}
/// A register of float16, given by their bits, widened.
inline Vector widen_halves(const std::uint16_t* from) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
}

}  // namespace
}  // namespace tern::simd
