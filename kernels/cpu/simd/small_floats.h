// Floats of 8 bits by way of binary16, which instruction sets widen. Included by their files, inside their namespaces.

TERN_SIMD_INLINE Floats widen_float8_e5m2(const void* from) {
  const Halves halves = halves_of_float8_e5m2(from);
  return widen_half(&halves);
}
TERN_SIMD_INLINE Floats widen_float8_e4m3fn(const void* from) {
  const Halves halves = halves_of_float8_e4m3fn(from);
  return widen_half(&halves) * 256.0F;
}
