// Elements of float4_e2m1fn_x2: two in each byte, the even one in the low four bits (OCP MX 1.0, 5.3.3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtypes/small_float.h"

namespace tern {

/// Element `i` counted from the low four bits of `packed[0]`.
inline F4E2M1 load_f4(const std::uint8_t* packed, std::int64_t i) {
  return F4E2M1::from_bits(static_cast<std::uint8_t>((packed[i >> 1] >> (4 * (i & 1))) & 0xf));
}

/// Leaves the other element of the byte as it was.
inline void store_f4(std::uint8_t* packed, std::int64_t i, F4E2M1 value) {
  const int shift = 4 * static_cast<int>(i & 1);
  std::uint8_t& byte = packed[i >> 1];
  byte = static_cast<std::uint8_t>((byte & (0xf0 >> shift)) | ((value.bits & 0xf) << shift));
}

/// Bytes that hold `count` elements.
constexpr std::int64_t packed_f4_bytes(std::int64_t count) {
  return count / 2 + (count & 1);
}

}  // namespace tern
