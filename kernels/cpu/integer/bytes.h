// Lines of bytes, copied for the instructions that multiply them.
#pragma once

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

}  // namespace tern::integer
