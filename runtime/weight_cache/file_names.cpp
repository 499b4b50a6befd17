#include "runtime/weight_cache/file_names.h"

#include <span>

#include "loader/hash.h"
#include "user_files/pending_file.h"

namespace tern {
namespace {

constexpr std::string_view kPacked = ".packed";

}  // namespace

CacheFileKind kind_of(std::string_view name) {
  if (is_numbered(name, 32, kPacked)) return CacheFileKind::packed;
  return is_numbered(name, 16, kUnfinishedPacked) ? CacheFileKind::temporary : CacheFileKind::unrelated;
}

std::string packed_name(std::string_view key) {
  const Hash128 hash = hash_of(std::as_bytes(std::span(key)));
  return numbered_name(hash.high, hash.low, kPacked);
}

}  // namespace tern
