// Partial byte stores for instruction sets without masks. Included by their files after store_low_bytes, inside their
// namespaces.

TERN_SIMD_INLINE void store_some_low_bytes(void* to, Integers w, std::ptrdiff_t count) {
  std::uint8_t bytes[kLanes];
  store_low_bytes(bytes, w);
  __builtin_memcpy(to, bytes, static_cast<std::size_t>(count));
}
