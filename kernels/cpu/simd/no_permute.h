// Element-wise lookup, for instruction sets without float lookup in registers. Included inside their namespaces.

TERN_SIMD_INLINE Floats load_places(const float* from, Words places) {
  Floats v;
  for (int i = 0; i < kLanes; ++i) v[i] = from[places[i]];
  return v;
}

inline constexpr bool kPermutes = false;
TERN_SIMD_INLINE Floats permute(const float* table, Words places) {
  Floats v;
  for (int i = 0; i < kLanes; ++i) v[i] = table[places[i] & 15];
  return v;
}
