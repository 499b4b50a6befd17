#include "runtime/weight_cache/file_names.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "loader/hash.h"

namespace tern {
namespace {

constexpr std::string_view kPacked = ".packed", kTemporary = ".packed.tmp";

bool is_number(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

CacheFileKind kind_of(std::string_view name) {
  if (name.ends_with(kPacked) && is_number(name.substr(0, name.size() - kPacked.size()), 32))
    return CacheFileKind::packed;
  if (name.ends_with(kTemporary) && is_number(name.substr(0, name.size() - kTemporary.size()), 16))
    return CacheFileKind::temporary;
  return CacheFileKind::other;
}

std::string packed_name(std::string_view key) {
  const Hash128 hash = hash_of(std::as_bytes(std::span(key)));
  return fmt::format("{:016x}{:016x}{}", hash.high, hash.low, kPacked);
}

std::string temporary_name() {
  // No process number: containers may share the folder, and each counts its processes for itself.
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) < 0) number = 0;
  return fmt::format("{:016x}{}", number, kTemporary);
}

}  // namespace tern
