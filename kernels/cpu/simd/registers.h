// Definitions common to all instruction sets, with the compiler's vectors. Included by each file inside its namespace,
// after kBytes.

inline constexpr int kLanes = kBytes / 4;
using Floats = float __attribute__((vector_size(kBytes)));
using Doubles = double __attribute__((vector_size(kBytes)));
using Words = std::uint32_t __attribute__((vector_size(kBytes)));
using Integers = std::int32_t __attribute__((vector_size(kBytes)));
using Halves = std::uint16_t __attribute__((vector_size(kBytes / 2)));
using HalfFloats = float __attribute__((vector_size(kBytes / 2)));
using Quad = float __attribute__((vector_size(16)));

#define TERN_SIMD_INLINE [[maybe_unused, gnu::always_inline]] inline

template <class V = Floats>
TERN_SIMD_INLINE V load(const float* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
TERN_SIMD_INLINE Doubles load(const double* from) {
  Doubles v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class V>
TERN_SIMD_INLINE void store(float* to, V v) {
  __builtin_memcpy(to, &v, sizeof v);
}
TERN_SIMD_INLINE void store(double* to, Doubles v) {
  __builtin_memcpy(to, &v, sizeof v);
}
TERN_SIMD_INLINE Floats broadcast(float x) {
  return x - Floats{};  // minus, since plus would lose -0
}

TERN_SIMD_INLINE Floats widen_bfloat16(const void* from) {
  Halves h;
  __builtin_memcpy(&h, from, sizeof h);
#if defined(__aarch64__)
  return reinterpret_cast<Floats>(vshll_n_u16(h, 16));
#else
  return reinterpret_cast<Floats>(__builtin_convertvector(h, Words) << 16);
#endif
}

/// Transposes four vectors; V has four elements of any type.
template <class V>
TERN_SIMD_INLINE void transpose(V (&row)[4]) {
  const V t0 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),
          t1 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7),
          t2 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5),
          t3 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  row[0] = __builtin_shufflevector(t0, t2, 0, 1, 4, 5);
  row[1] = __builtin_shufflevector(t0, t2, 2, 3, 6, 7);
  row[2] = __builtin_shufflevector(t1, t3, 0, 1, 4, 5);
  row[3] = __builtin_shufflevector(t1, t3, 2, 3, 6, 7);
}

template <class V>
TERN_SIMD_INLINE V least_of_vectors(V x, V y) {
  return ((x < y) | (x != x)) ? x : y;
}
template <class V>
TERN_SIMD_INLINE V greatest_of_vectors(V x, V y) {
  return ((x > y) | (x != x)) ? x : y;
}
TERN_SIMD_INLINE float min(float x, float y) {
  return x < y || x != x ? x : y;
}
TERN_SIMD_INLINE float max(float x, float y) {
  return x > y || x != x ? x : y;
}
