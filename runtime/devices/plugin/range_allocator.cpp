#include "runtime/devices/plugin/range_allocator.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace tern {

RangeAllocator::RangeAllocator(std::uint64_t begin, std::uint64_t bytes, Source source)
    : begin_(begin), source_(std::move(source)), mapped_(bytes / source_.piece) {
  blocks_[begin] = {mapped_.size() * source_.piece, false};
}

/// Pieces overlapping the block.
RangeAllocator::Pieces RangeAllocator::around(std::uint64_t address, std::uint64_t bytes) const {
  return {(address - begin_) / source_.piece, (address - begin_ + bytes + source_.piece - 1) / source_.piece};
}

/// Pieces used by this block alone.
RangeAllocator::Pieces RangeAllocator::inside(std::uint64_t address, std::uint64_t bytes) const {
  const std::uint64_t first = (address - begin_ + source_.piece - 1) / source_.piece;
  return {first, std::max(first, (address - begin_ + bytes) / source_.piece)};
}

template <class Run>
bool RangeAllocator::visit_runs(Pieces pieces, bool mapped, const Run& run) const {
  for (std::uint64_t begin = pieces.begin; begin < pieces.end;) {
    std::uint64_t end = begin;
    while (end < pieces.end && mapped_[end] == mapped) ++end;
    if (end > begin && !run(Pieces{begin, end})) return false;
    begin = std::max(end, begin + 1);
  }
  return true;
}

std::uint64_t RangeAllocator::unmapped(Pieces pieces) const {
  std::uint64_t count = 0;
  for (std::uint64_t i = pieces.begin; i < pieces.end; ++i) count += mapped_[i] ? 0 : 1;
  return count;
}

/// Finds the free block needing the least new memory for `size` bytes at its start; among equals, the smallest block.
RangeAllocator::Blocks::iterator RangeAllocator::best_for(std::uint64_t size) {
  auto best = blocks_.end();
  std::pair<std::uint64_t, std::uint64_t> least{std::numeric_limits<std::uint64_t>::max(), 0};
  for (auto it = blocks_.begin(); it != blocks_.end(); ++it) {
    if (it->second.used || it->second.size < size) continue;
    const std::pair cost{unmapped(around(it->first, size)), it->second.size};
    if (best != blocks_.end() && cost >= least) continue;
    best = it;
    least = cost;
  }
  return best;
}

/// Memory mapped before a failure stays mapped and free.
bool RangeAllocator::map(Pieces pieces) {
  const std::uint64_t bytes = unmapped(pieces) * source_.piece;
  if (stats_.limit != 0 && (bytes > stats_.limit || stats_.reserved > stats_.limit - bytes)) return false;
  return visit_runs(pieces, false, [&](Pieces run) {
    const std::uint64_t size = (run.end - run.begin) * source_.piece;
    if (!source_.map(begin_ + run.begin * source_.piece, size)) return false;
    std::fill(mapped_.begin() + static_cast<std::ptrdiff_t>(run.begin),
              mapped_.begin() + static_cast<std::ptrdiff_t>(run.end), true);
    stats_.reserved += size;
    stats_.segments = 1;
    return true;
  });
}

void RangeAllocator::unmap(Pieces pieces) {
  visit_runs(pieces, true, [&](Pieces run) {
    const std::uint64_t size = (run.end - run.begin) * source_.piece;
    source_.unmap(begin_ + run.begin * source_.piece, size);
    std::fill(mapped_.begin() + static_cast<std::ptrdiff_t>(run.begin),
              mapped_.begin() + static_cast<std::ptrdiff_t>(run.end), false);
    stats_.reserved -= size;
    stats_.segments = stats_.reserved == 0 ? 0 : 1;
    return true;
  });
}

std::uint64_t RangeAllocator::allocate(std::uint64_t bytes) {
  auto it = blocks_.end();
  std::uint64_t size = 0;
  if (bytes <= mapped_.size() * source_.piece) {
    size = block_size(bytes);
    it = best_for(size);
    if (it != blocks_.end() && !map(around(it->first, size))) {
      trim();  // unmaps memory lying free elsewhere
      it = best_for(size);
      if (it != blocks_.end() && !map(around(it->first, size))) it = blocks_.end();
    }
  }
  if (it == blocks_.end()) {
    ++stats_.out_of_memory;
    return 0;
  }
  Block& block = it->second;
  if (block.size > size) blocks_[it->first + size] = {block.size - size, false};
  block = {size, true};
  stats_.used += size;
  stats_.peak = std::max(stats_.peak, stats_.used);
  ++stats_.allocations;
  return it->first;
}

void RangeAllocator::free(std::uint64_t address) {
  auto it = blocks_.find(address);
  if (it == blocks_.end() || !it->second.used) return;
  it->second.used = false;
  stats_.used -= it->second.size;
  if (const auto next = std::next(it); next != blocks_.end() && !next->second.used) {
    it->second.size += next->second.size;
    blocks_.erase(next);
  }
  if (it == blocks_.begin()) return;
  if (const auto before = std::prev(it); !before->second.used) {
    before->second.size += it->second.size;
    blocks_.erase(it);
  }
}

void RangeAllocator::trim() {
  for (const auto& [address, block] : blocks_) {
    if (!block.used) unmap(inside(address, block.size));
  }
}

}  // namespace tern
