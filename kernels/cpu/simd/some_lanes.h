// Partial loads and stores for instruction sets without masks. Included by their files, inside their namespaces.

/// Loads the first `count` lanes; the others are zero and not read.
TERN_SIMD_INLINE Floats load_some(const float* from, std::ptrdiff_t count) {
  Floats v = {};
  for (std::ptrdiff_t i = 0; i < count; ++i) v[i] = from[i];
  return v;
}
TERN_SIMD_INLINE void store_some(float* to, Floats v, std::ptrdiff_t count) {
  float lanes[kLanes];
  store(lanes, v);
  std::ptrdiff_t i = 0;
  for (; i + 4 <= count; i += 4) store(to + i, load<Quad>(lanes + i));
  for (; i < count; ++i) to[i] = lanes[i];
}

/// n is an integer in -151 .. 127; `exponent` is the same number. Two steps, since the result may be subnormal.
TERN_SIMD_INLINE Floats times_power(Floats p, Floats, Integers exponent) {
  const Integers half = exponent >> 1;
  return p * reinterpret_cast<Floats>((half + 127) << 23) * reinterpret_cast<Floats>((exponent - half + 127) << 23);
}
