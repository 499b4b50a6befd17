// bfloat16 by IEEE 754, independent of the tested code.
#pragma once

#include <bit>
#include <cstdint>

namespace tern::test {

/// Rounds a finite value to 8 significant digits, ties to even.
inline float to_bfloat16(float v) {
  const auto bits = std::bit_cast<std::uint32_t>(v);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

}  // namespace tern::test
