// Writes a file of packed weights; the file appears to other processes once complete.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "runtime/weight_cache/folder.h"

namespace tern {

/// Makes room for the bytes (room.h), writes them to a temporary file and renames the file to the key's name, replacing
/// an existing file. Returns false after a failure: no room, no permission, a full disk. Single-threaded.
bool write_packed(const CacheFolder& folder, const std::string& key, std::span<const std::byte> bytes);

}  // namespace tern
