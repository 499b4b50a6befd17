// Allocates from one address range and maps memory only under blocks ("memory_segments" of tern/device.h): a block at
// the end grows in place, and any adjacent free addresses can hold a new block.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "runtime/devices/plugin/allocator.h"

namespace tern {

class RangeAllocator : public BlockAllocator {
 public:
  struct Source {
    std::uint64_t piece = 0;  ///< granularity of mapping in bytes
    /// Returns false if no memory is left.
    std::function<bool(std::uint64_t address, std::uint64_t bytes)> map;
    std::function<void(std::uint64_t address, std::uint64_t bytes)> unmap;
  };
  /// The range begins at a multiple of the piece size, and so does its length.
  RangeAllocator(std::uint64_t begin, std::uint64_t bytes, Source source);

  std::uint64_t allocate(std::uint64_t bytes) override;
  void free(std::uint64_t address) override;
  std::uint64_t size_of(std::uint64_t address) const override {
    const auto it = blocks_.find(address);
    return it == blocks_.end() || !it->second.used ? 0 : it->second.size;
  }
  void trim() override;

 private:
  struct Block {
    std::uint64_t size = 0;
    bool used = false;
  };
  using Blocks = std::map<std::uint64_t, Block>;
  /// A range of pieces, by number.
  struct Pieces {
    std::uint64_t begin = 0, end = 0;
  };
  Pieces around(std::uint64_t address, std::uint64_t bytes) const;
  Pieces inside(std::uint64_t address, std::uint64_t bytes) const;
  std::uint64_t unmapped(Pieces pieces) const;
  Blocks::iterator best_for(std::uint64_t size);
  bool map(Pieces pieces);
  void unmap(Pieces pieces);
  /// Calls `run` with the longest runs of mapped (or unmapped) pieces.
  template <class Run>
  bool visit_runs(Pieces pieces, bool mapped, const Run& run) const;

  std::uint64_t begin_;
  Source source_;
  Blocks blocks_;             ///< keyed by address, covering the range without adjacent free blocks
  std::vector<bool> mapped_;  ///< a flag per piece
};

}  // namespace tern
