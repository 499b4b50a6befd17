#include "runtime/weight_cache/write_packed.h"

#include <algorithm>
#include <cstdint>

#include "loader/format.h"
#include "runtime/weight_cache/file_names.h"
#include "runtime/weight_cache/packed_format.h"
#include "runtime/weight_cache/room.h"
#include "user_files/pending_file.h"

namespace tern {
namespace {

/// Hashes on this thread alone: the concurrent run needs the other threads.
Hash128 hash_alone(std::span<const std::byte> bytes) {
  SegmentHasher hasher;
  for (std::size_t at = 0; at < bytes.size(); at += kHashPiece) {
    hasher.add(bytes.subspan(at, std::min<std::size_t>(kHashPiece, bytes.size() - at)));
  }
  return hasher.finish();
}

}  // namespace

bool write_packed(const CacheFolder& folder, const std::string& key, std::span<const std::byte> bytes) {
  const std::uint64_t size = head_size(key) + bytes.size();
  if (!folder.usable() || bytes.empty() || !make_room(folder, size)) return false;
  const auto head = packed_head(key, bytes.size(), hash_alone(bytes));
  PendingFile file(folder.folder(), kUnfinishedPacked, size);
  return file.is_open() && file.write(head) && file.write(bytes) && file.rename(packed_name(key));
}

}  // namespace tern
