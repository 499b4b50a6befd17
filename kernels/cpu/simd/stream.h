// Stores past the caches for results larger than the caches: memory is written without a read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tern::pointwise {

/// Smallest result that the next reader would no longer find in a cache.
inline constexpr std::int64_t kStreamBytes = std::int64_t{32} << 20;

/// Like memcpy. end_stream() must precede reads by other threads.
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
