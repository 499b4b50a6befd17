// Stores past the caches, for results that are larger than them: memory is then written without being read first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tern::pointwise {

/// From this size on a result would not be found in a cache when it is read.
inline constexpr std::int64_t kStreamBytes = std::int64_t{32} << 20;

/// As memcpy. end_stream() has to follow before other threads may read.
inline void stream(std::byte* to, const std::byte* from, std::size_t n) {
#if defined(__SSE2__)
  constexpr std::size_t kLine = 64;
  const std::size_t head = (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine;
  if (n >= head + kLine) {
    std::memcpy(to, from, head);
    std::size_t at = head;
    for (; at + kLine <= n; at += kLine) {
      for (std::size_t k = 0; k < kLine; k += 16) {
        const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + k));
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + at + k), v);
      }
    }
    std::memcpy(to + at, from + at, n - at);
    return;
  }
#endif
  std::memcpy(to, from, n);
}

inline void end_stream() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace tern::pointwise
