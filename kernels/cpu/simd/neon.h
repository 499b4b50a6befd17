// NEON, present on every aarch64 processor.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tern::simd {
inline namespace neon {

inline constexpr int kBytes = 16, kRegisters = 32;
inline constexpr bool kFused = true;
#include "kernels/cpu/simd/registers.h"
#include "kernels/cpu/simd/some_lanes.h"

TERN_SIMD_INLINE void store_past_caches(float* to, Floats v) {
  store(to, v);
}

TERN_SIMD_INLINE Floats fma(Floats a, Floats b, Floats c) {
  return vfmaq_f32(c, a, b);
}
TERN_SIMD_INLINE Floats fma(float a, Floats b, Floats c) {
  return vfmaq_n_f32(c, b, a);
}
/// a[kLane] * b + c
template <int kLane>
TERN_SIMD_INLINE Floats fma_of_lane(Floats a, Floats b, Floats c) {
  return vfmaq_laneq_f32(c, b, a, kLane);
}
/// Four steps of a product: sums[i][r] += a[i][k] * b[k * b_row + r * kLanes ...], for k from 0 to 3.
template <int kRows, int kVectors>
TERN_SIMD_INLINE void add_four_steps(const Floats (&a)[kRows], const float* b, std::ptrdiff_t b_row,
                                     Floats (&sums)[kRows][kVectors]) {
  const auto step = [&]<int kStep>(std::integral_constant<int, kStep>) __attribute__((always_inline)) {
    Floats right[kVectors];
#pragma GCC unroll 4
    for (int r = 0; r < kVectors; ++r) right[r] = load<Floats>(b + r * kLanes);
    b += b_row;
    if (!__builtin_constant_p(b_row)) asm("" : "+r"(b));  // a pointer that moves: both registers by one load
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int r = 0; r < kVectors; ++r) sums[i][r] = fma_of_lane<kStep>(a[i], right[r], sums[i][r]);
    }
    asm volatile("" ::: "memory");  // compilers load the next step's before there are registers
  };
  step(std::integral_constant<int, 0>());
  step(std::integral_constant<int, 1>());
  step(std::integral_constant<int, 2>());
  step(std::integral_constant<int, 3>());
}
TERN_SIMD_INLINE Floats exact_fma(float a, Floats b, Floats c) {
  return fma(a, b, c);
}
TERN_SIMD_INLINE Doubles exact_fma(double a, Doubles b, Doubles c) {
  return vfmaq_n_f64(c, b, a);
}

TERN_SIMD_INLINE Floats root(Floats x) {
  return vsqrtq_f32(x);
}
TERN_SIMD_INLINE Doubles root(Doubles x) {
  return vsqrtq_f64(x);
}

TERN_SIMD_INLINE Floats min(Floats x, Floats y) {
  return least_of_vectors(x, y);
}
TERN_SIMD_INLINE Floats max(Floats x, Floats y) {
  return greatest_of_vectors(x, y);
}

TERN_SIMD_INLINE Floats clamp(Floats x, Floats low, Floats high) {
  return vminq_f32(vmaxq_f32(x, low), high);  // NaN stays NaN
}
TERN_SIMD_INLINE Integers rounded(Floats x) {
  return vcvtnq_s32_f32(x);  // NaN gives 0
}
TERN_SIMD_INLINE void store_low_bytes(void* to, Integers w) {
  const uint16x4_t halves = vmovn_u32(reinterpret_cast<uint32x4_t>(w));
  const uint32x2_t bytes = vreinterpret_u32_u8(vmovn_u16(vcombine_u16(halves, halves)));
  const std::uint32_t four = vget_lane_u32(bytes, 0);
  __builtin_memcpy(to, &four, sizeof four);
}

TERN_SIMD_INLINE Floats widen_half(const void* from) {
  float16x4_t h;
  __builtin_memcpy(&h, from, sizeof h);
  return vcvt_f32_f16(h);
}
TERN_SIMD_INLINE Floats widen_halves(Halves h) {
  return vcvt_f32_f16(reinterpret_cast<float16x4_t>(h));
}
#include "kernels/cpu/simd/no_permute.h"

/// Loads four bytes, twice.
TERN_SIMD_INLINE uint32x2_t load_bytes(const void* from) {
  std::uint32_t bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  return vdup_n_u32(bytes);
}
TERN_SIMD_INLINE Integers whole_of_int8(const void* from) {
  return reinterpret_cast<Integers>(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(load_bytes(from))))));
}
TERN_SIMD_INLINE Halves halves_of_codes(const void* from) {
  return reinterpret_cast<Halves>(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(load_bytes(from)))));
}
TERN_SIMD_INLINE Integers whole_of_uint8(const void* from) {
  return __builtin_convertvector(halves_of_codes(from), Integers);
}
#include "kernels/cpu/simd/bytes.h"
#include "kernels/cpu/simd/some_bytes.h"
#include "kernels/cpu/simd/two_registers.h"

}  // namespace neon
}  // namespace tern::simd
