// Helpers for parallel loops over lines: the number of lines per thread, and thread-local memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tern {

/// Returns the number of items, `cost` elements each, worth a thread.
inline std::int64_t grain_for(std::int64_t cost) {
  return std::max<std::int64_t>(1, (std::int64_t{1} << 15) / std::max<std::int64_t>(1, cost));
}

/// Returns `count` uninitialised elements, valid until this thread requests the same `slot` (0 to 8) again.
template <class T>
T* thread_buffer(std::size_t count, std::size_t slot = 0) {
  constexpr std::size_t kAlign = 64;
  thread_local std::vector<std::byte> buffers[9];
  std::vector<std::byte>& b = buffers[slot];
  const std::size_t need = count * sizeof(T) + kAlign;
  if (b.size() < need) b = std::vector<std::byte>(need);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(b.data()) % kAlign;
  return reinterpret_cast<T*>(b.data() + (kAlign - past));
}

}  // namespace tern
