// The outside of an archive: prologue, index hash, and the segments that tile the file between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "loader/findings.h"
#include "loader/memory_pages.h"
#include "loader/prologue.h"

namespace tern {

struct SegmentInfo {
  std::uint64_t offset = 0, stored_size = 0, size = 0;
  std::uint64_t alignment = 0;
  bool compressed = false;
  bool known_codec = true;
  Hash128 hash;
  std::uint32_t frame_size = 0;
  std::vector<std::uint32_t> frames;  ///< stored sizes
  std::uint64_t place = 0;            ///< offset of its table, for messages
  /// Parts of the decoded bytes, begin and end, that states view as booleans; in order, none touches another.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> booleans;
};

/// The prologue and a private copy of the index, so that a file that changes meanwhile cannot change what was checked.
struct Container {
  Prologue prologue;
  MemoryPages memory;
  std::span<const std::byte> index;  ///< empty where the prologue does not say where it is
};
Container read_container(std::span<const std::byte> file, Findings& findings);

/// Segments must lie in the order of the list, each at the next multiple of its alignment, with zeros before it; the
/// index follows. Touches nothing of the segments themselves.
void check_tiling(std::span<const std::byte> file, const Prologue& prologue, const std::vector<SegmentInfo>& segments,
                  Findings& findings);

}  // namespace tern
