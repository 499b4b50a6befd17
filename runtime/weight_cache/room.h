// Keeps a folder of packed weights within its limit.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/weight_cache/folder.h"

namespace tern {

/// Recently used files are not deleted. Otherwise a program with too many weights would delete its first weights to
/// store its last weights, in every run.
inline constexpr std::chrono::minutes kRecent{60};

/// Deletes the least recently used files (by modification time) until `bytes` more bytes fit into the folder's limit
/// and into half of the file system's free space, counted without the folder. Returns false and deletes nothing if they
/// cannot fit. Always deletes abandoned temporary files. Concurrent processes may exceed the limit by the size of their
/// new files.
bool make_room(const CacheFolder& folder, std::uint64_t bytes);

}  // namespace tern
