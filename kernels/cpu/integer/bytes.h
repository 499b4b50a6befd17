// Lines of bytes, copied for the instructions that multiply them.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/cpu/integer/rows.h"

namespace tern::integer {

/// `flips`: each becomes an integer of the other sign, 128 larger or smaller.
inline void copy_bytes(const std::byte* from, std::int64_t count, bool flips, std::byte* to) {
  if (!flips) {
    std::memcpy(to, from, static_cast<std::size_t>(count));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] ^ static_cast<std::byte>(kFlip);
}

/// A row of k bytes as row `row` of a layout of tiles.
inline void copy_row(const std::byte* from, std::int64_t k, std::int64_t row, const amx::RowLayout& layout, bool flips,
                     std::byte* to) {
  to += row / kTile * layout.tile + row % kTile * layout.row;
  for (; k >= kStep && !flips; k -= kStep, from += kStep, to += layout.step) std::memcpy(to, from, kStep);
  for (; k > 0; k -= kStep, from += kStep, to += layout.step) copy_bytes(from, std::min(kStep, k), flips, to);
}

}  // namespace tern::integer
