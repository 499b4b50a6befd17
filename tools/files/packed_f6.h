// Six-bit elements: four in three bytes in a safetensors file, one byte each in memory.
#pragma once

#include <cstddef>
#include <span>

namespace tern {

/// Element i of `packed` is bits 6i to 6i+5, counted from the lowest bit of the first byte.
/// `packed` holds exactly elements.size() * 6 / 8 bytes; elements.size() is a multiple of 4.
void unpack_f6(std::span<const std::byte> packed, std::span<std::byte> elements);
void pack_f6(std::span<const std::byte> elements, std::span<std::byte> packed);

}  // namespace tern
