// Names of the files in a folder of packed weights. Other files there are left alone.
#pragma once

#include <string>
#include <string_view>

namespace tern {

enum class CacheFileKind {
  packed,     ///< complete
  temporary,  ///< being written, or left over from a process that died
  other,
};
CacheFileKind kind_of(std::string_view name);

/// From the hash of the key: "0123456789abcdef0123456789abcdef.packed".
std::string packed_name(std::string_view key);
/// The end of the name of a file that is being written: "0123456789abcdef.packed.tmp".
inline constexpr std::string_view kUnfinishedPacked = ".packed.tmp";

}  // namespace tern
