// Hashes of an archive: plain XXH3-128 for the index; for segments XXH3-128 of pieces, so that cores share the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dtypes/levels.h"

namespace tern {

struct Hash128 {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

/// XXH3-128 of the bytes with seed 0.
Hash128 hash_of(std::span<const std::byte> bytes);
/// The same by wider instructions, twice as fast.
TERN_LEVEL_FUNCTIONS(hashes, hash_at_level, std::span<const std::byte> bytes, Hash128* hash)
/// The hash of `head` followed by `tail`.
Hash128 hash_of(std::span<const std::byte> head, std::span<const std::byte> tail);

/// XXH3-128 of the XXH3-128 hashes (low half first) of the pieces of 256 KiB of a segment's stored bytes.
class SegmentHasher {
 public:
  /// Every call except the last needs a multiple of 256 KiB. Uses all cores for many pieces.
  void add(std::span<const std::byte> bytes);
  Hash128 finish() const;

 private:
  std::vector<Hash128> pieces_;
};
Hash128 segment_hash(std::span<const std::byte> stored);

}  // namespace tern
