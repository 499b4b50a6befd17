// bfloat16 as IEEE 754 would have it, beside what is tested.
#pragma once

#include <bit>
#include <cstdint>

namespace tern::test {

/// To 8 significant digits, ties to even. Of finite values.
inline float to_bfloat16(float v) {
  const auto bits = std::bit_cast<std::uint32_t>(v);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

}  // namespace tern::test
