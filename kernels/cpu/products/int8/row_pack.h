// Lines of bytes, copied for the instructions that multiply them.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/products/int8/methods.h"

namespace tern::int8 {

/// Up to kStep bytes, as two pieces that may overlap: most rows are too short for a call to be worth it.
inline void copy_few(const std::byte* from, std::int64_t count, std::byte* to) {
  const auto pieces = [&]<std::size_t kSize>(std::integral_constant<std::size_t, kSize>) {
    std::memcpy(to, from, kSize);
    std::memcpy(to + count - kSize, from + count - kSize, kSize);
  };
  if (count >= 32) return pieces(std::integral_constant<std::size_t, 32>());
  if (count >= 16) return pieces(std::integral_constant<std::size_t, 16>());
  if (count >= 8) return pieces(std::integral_constant<std::size_t, 8>());
  if (count >= 4) return pieces(std::integral_constant<std::size_t, 4>());
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
}

/// `flips`: each becomes an integer of the other sign, 128 larger or smaller.
inline void copy_bytes(const std::byte* from, std::int64_t count, bool flips, std::byte* to) {
  if (!flips) {
    if (count <= kStep) return copy_few(from, count, to);
    std::memcpy(to, from, static_cast<std::size_t>(count));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] ^ static_cast<std::byte>(kFlip);
}

/// A row of k bytes as row `row` of a layout of tiles.
inline void copy_row(const std::byte* from, std::int64_t k, std::int64_t row, const tiles::RowLayout& layout,
                     bool flips, std::byte* to) {
  to += row / kTile * layout.tile + row % kTile * layout.row;
  for (; k >= kStep && !flips; k -= kStep, from += kStep, to += layout.step) std::memcpy(to, from, kStep);
  for (; k > 0; k -= kStep, from += kStep, to += layout.step) copy_bytes(from, std::min(kStep, k), flips, to);
}

}  // namespace tern::int8
