// Outer structure of an archive: prologue, index hash, and the segments tiling the file between them.
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
  std::uint64_t table_offset = 0;     ///< offset of the segment's table, for messages
  /// Ranges (begin, end) of the decoded bytes viewed as booleans by states; ascending and not adjacent.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> booleans;
};

/// The prologue and a private copy of the index: later changes of the file cannot affect checked data.
struct ArchiveContainer {
  Prologue prologue;
  MemoryPages memory;
  std::span<const std::byte> index;  ///< empty if the prologue does not locate the index
};
ArchiveContainer read_container(std::span<const std::byte> file, Findings& findings);

/// Checks the tiling: segments in list order, each aligned, with zeros in the gaps, then the index. Does not read
/// segments.
void check_tiling(std::span<const std::byte> file, const Prologue& prologue, const std::vector<SegmentInfo>& segments,
                  Findings& findings);

}  // namespace tern
