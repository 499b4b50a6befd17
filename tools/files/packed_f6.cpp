#include "tools/files/packed_f6.h"

#include <cstdint>

namespace tern {

void unpack_f6(std::span<const std::byte> packed, std::span<std::byte> elements) {
  for (std::size_t group = 0; group < elements.size() / 4; ++group) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) bits |= std::to_integer<std::uint32_t>(packed[group * 3 + i]) << (8 * i);
    for (std::size_t i = 0; i < 4; ++i) elements[group * 4 + i] = static_cast<std::byte>((bits >> (6 * i)) & 0x3f);
  }
}

void pack_f6(std::span<const std::byte> elements, std::span<std::byte> packed) {
  for (std::size_t group = 0; group < elements.size() / 4; ++group) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      bits |= (std::to_integer<std::uint32_t>(elements[group * 4 + i]) & 0x3f) << (6 * i);
    }
    for (std::size_t i = 0; i < 3; ++i) packed[group * 3 + i] = static_cast<std::byte>((bits >> (8 * i)) & 0xff);
  }
}

}  // namespace tern
