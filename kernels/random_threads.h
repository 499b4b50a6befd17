// Threads that share the elements of a random tensor.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tern {

constexpr std::int64_t kRandomGroup = 256;  // threads per group

/// Threads of PyTorch's kernel for `n` elements on a device of 132 multiprocessors of 2048 threads.
inline std::int64_t random_threads(std::int64_t n) {
  return kRandomGroup * std::clamp<std::int64_t>((n - 1) / kRandomGroup + 1, 1, 132 * 8);
}

}  // namespace tern
