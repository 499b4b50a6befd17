// Part of the file of an instruction set that converts no halves.
using Words = std::uint32_t __attribute__((vector_size(kLanes * sizeof(float))));
using Halves = std::uint16_t __attribute__((vector_size(kLanes * sizeof(std::uint16_t))));

/// A register of float16, given by their bits, widened. The exponent's bias is 15, not 127; numbers below the normal
/// ones come right by the multiplication too.
inline Vector widen_halves(const std::uint16_t* from) {
  Halves bits;
  __builtin_memcpy(&bits, from, sizeof bits);
  const Words h = __builtin_convertvector(bits, Words);
  const Vector scaled = reinterpret_cast<Vector>((h & 0x7fff) << 13) * 0x1p112F;
  const Words special = reinterpret_cast<Words>((h & 0x7c00) == 0x7c00) & 0x7f800000;
  return reinterpret_cast<Vector>(reinterpret_cast<Words>(scaled) | special | (h & 0x8000) << 16);
}
