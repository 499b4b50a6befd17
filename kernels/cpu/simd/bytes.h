// Elements of 8 bits. Included by the files of instruction sets, inside their namespaces, after the definitions of
// widen_half and the conversions from integers to Whole (whole_of_int8, whole_of_uint8) and from codes to Halves
// (halves_of_codes).

TERN_SIMD_INLINE Floats widen_int8(const void* from) {
  return __builtin_convertvector(whole_of_int8(from), Floats);
}
TERN_SIMD_INLINE Floats widen_uint8(const void* from) {
  return __builtin_convertvector(whole_of_uint8(from), Floats);
}

// Floats of 8 bits are widened through binary16. float8_e5m2 is the upper half of binary16. float8_e4m3fn has one
// exponent bit less, with a bias of 7, not 15: the binary16 number is 2^8 times too small. NaN, the magnitude 0x7f,
// gets NaN's exponent: 0x7f + 1 is the only incremented magnitude with bit 7.
TERN_SIMD_INLINE Halves scaled_halves_of_e4m3fn(Halves code) {
  const Halves magnitude = code & 0x7f;
  return (magnitude | ((magnitude + 1) & 0x80)) << 7 | (code & 0x80) << 8;
}
TERN_SIMD_INLINE Floats widen_float8_e5m2(const void* from) {
  const Halves halves = halves_of_codes(from) << 8;
  return widen_half(&halves);
}
TERN_SIMD_INLINE Floats widen_float8_e4m3fn(const void* from) {
  const Halves halves = scaled_halves_of_e4m3fn(halves_of_codes(from));
  return widen_half(&halves) * 256.0F;
}
