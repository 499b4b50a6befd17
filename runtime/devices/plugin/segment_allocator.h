// Divides large segments of device memory into blocks.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "runtime/devices/plugin/allocator.h"

namespace tern {

class SegmentAllocator : public BlockAllocator {
 public:
  /// `allocate` returns 0 if no memory is left.
  struct Source {
    std::function<std::uint64_t(std::uint64_t bytes)> allocate;
    std::function<void(std::uint64_t address)> free;
  };
  explicit SegmentAllocator(Source source) : source_(std::move(source)) {}

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
    bool starts_segment = false;  ///< true for the first block of its segment
  };
  using Blocks = std::map<std::uint64_t, Block>;
  std::uint64_t grow(std::uint64_t bytes);
  bool same_segment(Blocks::iterator next) const { return next != blocks_.end() && !next->second.starts_segment; }

  Source source_;
  Blocks blocks_;                                           ///< keyed by address
  std::set<std::pair<std::uint64_t, std::uint64_t>> free_;  ///< size and address
  std::uint64_t next_segment_ = 1 << 20;
};

}  // namespace tern
