#include "loader/hash.h"

#include <xxhash.h>

#include <algorithm>

#include "loader/format.h"
#include "threads/parallel.h"

namespace tern {
namespace {

Hash128 hash128_of(XXH128_hash_t h) {
  return {h.low64, h.high64};
}

}  // namespace

Hash128 hash_of(std::span<const std::byte> bytes) {
  static const auto faster = best_level(hash_at_level_levels);
  if (faster != nullptr) {
    Hash128 hash;
    faster(bytes, &hash);
    return hash;
  }
  return hash128_of(XXH3_128bits(bytes.data(), bytes.size()));
}

Hash128 hash_of(std::span<const std::byte> head, std::span<const std::byte> tail) {
  struct Release {
    XXH3_state_t* state;
    ~Release() { XXH3_freeState(state); }
  } owner{XXH3_createState()};
  XXH3_128bits_reset(owner.state);
  XXH3_128bits_update(owner.state, head.data(), head.size());
  XXH3_128bits_update(owner.state, tail.data(), tail.size());
  return hash128_of(XXH3_128bits_digest(owner.state));
}

void SegmentHasher::add(std::span<const std::byte> bytes) {
  const std::size_t count = (bytes.size() + kHashPiece - 1) / kHashPiece, first = pieces_.size();
  pieces_.resize(first + count);
  parallel_for(static_cast<std::int64_t>(count), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const std::size_t byte_offset = i * kHashPiece;
      pieces_[first + i] =
          hash_of(bytes.subspan(byte_offset, std::min<std::size_t>(kHashPiece, bytes.size() - byte_offset)));
    }
  });
}

Hash128 SegmentHasher::finish() const {
  static_assert(sizeof(Hash128) == 16);
  return hash_of(std::as_bytes(std::span(pieces_)));
}

Hash128 segment_hash(std::span<const std::byte> stored) {
  SegmentHasher hasher;
  hasher.add(stored);
  return hasher.finish();
}

}  // namespace tern
