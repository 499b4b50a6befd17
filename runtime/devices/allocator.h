// A device's memory: large segments from the plugin, divided into blocks that are kept when they are given back.
#pragma once

#include <tern/memory.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace tern {

/// Not thread-safe: the device locks.
class SegmentAllocator {
 public:
  /// `allocate` gives 0 where there is no memory left.
  struct Source {
    std::function<std::uint64_t(std::uint64_t bytes)> allocate;
    std::function<void(std::uint64_t address)> free;
  };
  explicit SegmentAllocator(Source source) : source_(std::move(source)) {}

  /// An address, a multiple of 256 from its segment's start; 0 when there is no memory, or none below the limit.
  std::uint64_t allocate(std::uint64_t bytes);
  void free(std::uint64_t address);
  /// Gives segments without blocks in use back.
  void trim();
  /// No more than this many bytes of segments; 0: no limit.
  void set_limit(std::uint64_t bytes) { stats_.limit = bytes; }
  const DeviceMemoryStats& stats() const { return stats_; }

 private:
  struct Block {
    std::uint64_t size = 0;
    bool used = false;
    bool starts_segment = false;  ///< no block of the same segment lies before it
  };
  using Blocks = std::map<std::uint64_t, Block>;
  std::uint64_t grow(std::uint64_t bytes);
  bool same_segment(Blocks::iterator next) const { return next != blocks_.end() && !next->second.starts_segment; }

  Source source_;
  Blocks blocks_;                                           ///< by address
  std::set<std::pair<std::uint64_t, std::uint64_t>> free_;  ///< size and address
  std::uint64_t next_segment_ = 1 << 20;
  DeviceMemoryStats stats_;
};

}  // namespace tern
