// File names in a folder of packed weights. Other files there are ignored.
#pragma once

#include <string>
#include <string_view>

namespace tern {

enum class CacheFileKind {
  packed,     ///< complete
  temporary,  ///< being written, or left by a dead process
  unrelated,
};
CacheFileKind kind_of(std::string_view name);

/// Name derived from the key's hash: "0123456789abcdef0123456789abcdef.packed".
std::string packed_name(std::string_view key);
/// Suffix of an unfinished file: "0123456789abcdef.packed.tmp".
inline constexpr std::string_view kUnfinishedPacked = ".packed.tmp";

}  // namespace tern
