// Compiles xxHash's own header with AVX2: distributions compile the library for any processor of the architecture.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "loader/hash.h"

namespace tern {

Hash128 hash_with_avx2(std::span<const std::byte> bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.low64, h.high64};
}

}  // namespace tern
