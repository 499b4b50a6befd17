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

/// Transposes each four lanes of four vectors, from lane 0 on; V has 4, 8 or 16 elements of any type.
template <class V>
TERN_SIMD_INLINE void transpose(V (&row)[4]) {
  V t[4];
  if constexpr (sizeof(V) / sizeof(row[0][0]) == 4) {
    for (int i = 0; i < 4; i += 2) {
      t[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 4, 1, 5);
      t[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 2, 6, 3, 7);
    }
    for (int i = 0; i < 2; ++i) {
      row[2 * i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 4, 5);
      row[2 * i + 1] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 6, 7);
    }
  } else if constexpr (sizeof(V) / sizeof(row[0][0]) == 8) {
    for (int i = 0; i < 4; i += 2) {
      t[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
      t[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 2; ++i) {
      row[2 * i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      row[2 * i + 1] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  } else {
    for (int i = 0; i < 4; i += 2) {
      t[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
      t[i + 1] =
          __builtin_shufflevector(row[i], row[i + 1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    }
    for (int i = 0; i < 2; ++i) {
      row[2 * i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
      row[2 * i + 1] =
          __builtin_shufflevector(t[i], t[i + 2], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    }
  }
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
