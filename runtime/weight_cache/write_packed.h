// Writes a file of packed weights: other processes see it once it is complete.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "runtime/weight_cache/folder.h"

namespace tern {

/// Makes room for the bytes (room.h), writes them to a temporary file and gives it the name of the key, in place of
/// another file of that name. False if that fails: no room, no rights, a full disk. Uses the calling thread alone.
bool write_packed(const CacheFolder& folder, const std::string& key, std::span<const std::byte> bytes);

}  // namespace tern
