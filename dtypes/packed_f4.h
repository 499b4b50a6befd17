// Elements of float4_e2m1fn_x2: two in each byte, even indices in the low four bits (OCP MX 1.0, 5.3.3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtypes/small_float.h"

namespace tern {

/// Element `i` counted from the low four bits of `packed[0]`.
inline F4E2M1 load_f4(const std::uint8_t* packed, std::int64_t i) {
  return F4E2M1::from_bits(static_cast<std::uint8_t>((packed[i >> 1] >> (4 * (i & 1))) & 0xf));
}

/// Keeps the other element of the byte.
inline void store_f4(std::uint8_t* packed, std::int64_t i, F4E2M1 value) {
  const int shift = 4 * static_cast<int>(i & 1);
  std::uint8_t& byte = packed[i >> 1];
  byte = static_cast<std::uint8_t>((byte & (0xf0 >> shift)) | ((value.bits & 0xf) << shift));
}

/// Bytes of `count` elements.
constexpr std::int64_t packed_f4_bytes(std::int64_t count) {
  return count / 2 + (count & 1);
}

inline void unpack_f4(const std::uint8_t* packed, F4E2M1* elements, std::int64_t count) {
  for (std::int64_t i = 0; i < count / 2; ++i) {
    elements[2 * i] = F4E2M1::from_bits(packed[i] & 0xf);
    elements[2 * i + 1] = F4E2M1::from_bits(packed[i] >> 4);
  }
  if ((count & 1) != 0) elements[count - 1] = load_f4(packed, count - 1);
}

/// Odd `count`: the last four bits are zero.
inline void pack_f4(const F4E2M1* elements, std::uint8_t* packed, std::int64_t count) {
  for (std::int64_t i = 0; i < count / 2; ++i) {
    packed[i] = static_cast<std::uint8_t>((elements[2 * i].bits & 0xf) | (elements[2 * i + 1].bits << 4));
  }
  if ((count & 1) != 0) packed[count / 2] = elements[count - 1].bits & 0xf;
}

}  // namespace tern
