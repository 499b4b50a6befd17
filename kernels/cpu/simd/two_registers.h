// Widens two vectors of 8-bit floats one by one, for instruction sets without a gain from pairs. Included by their
// files, inside their namespaces.

TERN_SIMD_INLINE void widen_two_float8_e5m2(const void* from, Floats (&to)[2]) {
  const auto* codes = static_cast<const std::uint8_t*>(from);
  for (int i = 0; i < 2; ++i) to[i] = widen_float8_e5m2(codes + i * kLanes);
}
TERN_SIMD_INLINE void widen_two_float8_e4m3fn(const void* from, Floats (&to)[2]) {
  const auto* codes = static_cast<const std::uint8_t*>(from);
  for (int i = 0; i < 2; ++i) to[i] = widen_float8_e4m3fn(codes + i * kLanes);
}
