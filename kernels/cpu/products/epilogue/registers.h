// Epilogues on sums in registers.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cpu/pointwise/finish.h"
#include "kernels/kernel.h"

namespace tern::tiles {
namespace {  // files of other instruction sets have their own

inline constexpr int kNotFinite = 0x99;  // classes of vfpclass: quiet and signalling NaN, both infinities

/// The first n lanes of 16.
inline __mmask16 first(std::int64_t n) {
  return static_cast<__mmask16>(n >= 16 ? 0xFFFF : n <= 0 ? 0 : (1 << n) - 1);
}

/// The first n lanes of 32.
inline __mmask32 first_of_32(std::int64_t n) {
  return n >= 32 ? ~__mmask32{0} : n <= 0 ? 0 : (__mmask32{1} << n) - 1;
}

inline bool has_strange(__m512 v, __mmask16 mask) {
  return _mm512_mask_fpclass_ps_mask(mask, v, kNotFinite) != 0;
}

/// A simple epilogue, or none, on vectors of results.
class InRegisters {
 public:
  explicit InRegisters(const pointwise::BoundEpilogue& finish) {
    const pointwise::SimpleEpilogue* simple = finish.simple();
    if (simple == nullptr) return;
    low_ = _mm512_set1_ps(simple->low);
    high_ = _mm512_set1_ps(simple->high);
    if (simple->operand >= 0)
      operand_ = finish.call->in[static_cast<std::size_t>(simple->operand)].data_as<const float>();
  }
  /// Asks for the memory of an operand's 16 or 32 elements from number `at` on.
  void ask(std::int64_t at, bool second) const {
    if (operand_ == nullptr) return;
    __builtin_prefetch(operand_ + at);
    if (second) __builtin_prefetch(operand_ + at + 16);
  }
  bool adds() const { return operand_ != nullptr; }
  /// `at`: the output's element number of the first lane. The second of two operands is returned where one is NaN.
  __m512 operator()(__m512 v, __mmask16 mask, std::int64_t at) const {
    return operand_ == nullptr ? apply<false>(v, mask, at) : apply<true>(v, mask, at);
  }
  template <bool kAdds>
  __m512 apply(__m512 v, __mmask16 mask, std::int64_t at) const {
    if constexpr (kAdds) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, operand_ + at));
    return _mm512_min_ps(high_, _mm512_max_ps(low_, v));
  }

 private:
  const float* operand_ = nullptr;
  __m512 low_ = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  __m512 high_ = _mm512_set1_ps(std::numeric_limits<float>::infinity());
};

/// Copies `count` (at most 32) floats.
inline void copy_floats(const float* from, std::int64_t count, float* to) {
  _mm512_mask_storeu_ps(to, first(count), _mm512_maskz_loadu_ps(first(count), from));
  if (count > 16)
    _mm512_mask_storeu_ps(to + 16, first(count - 16), _mm512_maskz_loadu_ps(first(count - 16), from + 16));
}

}  // namespace
}  // namespace tern::tiles
