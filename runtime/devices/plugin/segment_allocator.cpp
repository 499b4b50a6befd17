#include "runtime/devices/plugin/segment_allocator.h"

#include <algorithm>

namespace tern {
namespace {

constexpr std::uint64_t kLargestStep = std::uint64_t{1} << 28;  // segment sizes double up to this size

}  // namespace

/// Adds a segment of at least `bytes` bytes; returns its address or 0.
std::uint64_t SegmentAllocator::grow(std::uint64_t bytes) {
  for (std::uint64_t size : {std::max(bytes, next_segment_), bytes}) {
    if (stats_.limit != 0 && (size > stats_.limit || stats_.reserved > stats_.limit - size)) continue;
    const std::uint64_t address = source_.allocate(size);
    if (address == 0) continue;
    blocks_[address] = {size, false, true};
    free_.insert({size, address});
    stats_.reserved += size;
    ++stats_.segments;
    next_segment_ = std::min(next_segment_ * 2, kLargestStep);
    return address;
  }
  return 0;
}

std::uint64_t SegmentAllocator::allocate(std::uint64_t bytes) {
  if (bytes > (std::uint64_t{1} << 62)) {
    ++stats_.out_of_memory;
    return 0;
  }
  const std::uint64_t size = block_size(bytes);
  auto at = free_.lower_bound({size, 0});
  if (at == free_.end()) {
    if (grow(size) == 0) {
      trim();
      if (grow(size) == 0) {
        ++stats_.out_of_memory;
        return 0;
      }
    }
    at = free_.lower_bound({size, 0});
  }
  const auto [whole, address] = *at;
  free_.erase(at);
  Block& block = blocks_[address];
  block.used = true;
  block.size = size;
  if (whole > size) {
    blocks_[address + size] = {whole - size, false, false};
    free_.insert({whole - size, address + size});
  }
  stats_.used += size;
  stats_.peak = std::max(stats_.peak, stats_.used);
  ++stats_.allocations;
  return address;
}

void SegmentAllocator::free(std::uint64_t address) {
  auto at = blocks_.find(address);
  if (at == blocks_.end() || !at->second.used) return;
  at->second.used = false;
  stats_.used -= at->second.size;
  if (const auto next = std::next(at); same_segment(next) && !next->second.used) {
    free_.erase({next->second.size, next->first});
    at->second.size += next->second.size;
    blocks_.erase(next);
  }
  if (!at->second.starts_segment) {
    const auto before = std::prev(at);
    if (!before->second.used) {
      free_.erase({before->second.size, before->first});
      before->second.size += at->second.size;
      blocks_.erase(at);
      at = before;
    }
  }
  free_.insert({at->second.size, at->first});
}

void SegmentAllocator::trim() {
  for (auto at = blocks_.begin(); at != blocks_.end();) {
    const auto next = std::next(at);
    if (at->second.used || !at->second.starts_segment || same_segment(next)) {
      at = next;
      continue;
    }
    const std::uint64_t address = at->first;
    free_.erase({at->second.size, address});
    stats_.reserved -= at->second.size;
    --stats_.segments;
    at = blocks_.erase(at);
    source_.free(address);
  }
}

}  // namespace tern
