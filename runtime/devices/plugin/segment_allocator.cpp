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
  auto it = free_.lower_bound({size, 0});
  if (it == free_.end()) {
    if (grow(size) == 0) {
      trim();
      if (grow(size) == 0) {
        ++stats_.out_of_memory;
        return 0;
      }
    }
    it = free_.lower_bound({size, 0});
  }
  const auto [whole, address] = *it;
  free_.erase(it);
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
  auto it = blocks_.find(address);
  if (it == blocks_.end() || !it->second.used) return;
  it->second.used = false;
  stats_.used -= it->second.size;
  if (const auto next = std::next(it); same_segment(next) && !next->second.used) {
    free_.erase({next->second.size, next->first});
    it->second.size += next->second.size;
    blocks_.erase(next);
  }
  if (!it->second.starts_segment) {
    const auto before = std::prev(it);
    if (!before->second.used) {
      free_.erase({before->second.size, before->first});
      before->second.size += it->second.size;
      blocks_.erase(it);
      it = before;
    }
  }
  free_.insert({it->second.size, it->first});
}

void SegmentAllocator::trim() {
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    const auto next = std::next(it);
    if (it->second.used || !it->second.starts_segment || same_segment(next)) {
      it = next;
      continue;
    }
    const std::uint64_t address = it->first;
    free_.erase({it->second.size, address});
    stats_.reserved -= it->second.size;
    --stats_.segments;
    it = blocks_.erase(it);
    source_.free(address);
  }
}

}  // namespace tern
