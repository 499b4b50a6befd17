// Keeps a folder of packed weights within its bound.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/weight_cache/folder.h"

namespace tern {

/// A file that was used this recently stays. Otherwise a program with more weights than fit would delete the weights
/// that it packed first to keep those it packs last, in every run.
inline constexpr std::chrono::minutes kRecent{60};

/// Deletes the files that were not used for longest, by their modification times, until `bytes` more fit: into the
/// folder's limit, and into half of the space that the file system would have without the folder. False, and nothing is
/// deleted, if they do not fit. Always deletes temporary files that nobody writes. Processes that make room at the same
/// time may exceed the bound by what each of them writes.
bool make_room(const CacheFolder& folder, std::uint64_t bytes);

}  // namespace tern
