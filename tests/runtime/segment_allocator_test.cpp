// SegmentAllocator over imaginary addresses: blocks never overlap, are reused, and merge.
#include "runtime/devices/plugin/segment_allocator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace tern {
namespace {

/// Hands out successive segments, up to `room` bytes, and tracks live segments.
struct RandomNumbers {
  std::uint64_t room = ~std::uint64_t{0}, next = 1 << 20, given = 0;
  std::map<std::uint64_t, std::uint64_t> segments;

  SegmentAllocator::Source source() {
    return {[this](std::uint64_t bytes) -> std::uint64_t {
              if (given + bytes > room) return 0;
              given += bytes;
              const std::uint64_t at = next;
              next += bytes + (1 << 20);
              segments[at] = bytes;
              return at;
            },
            [this](std::uint64_t address) {
              ASSERT_EQ(segments.count(address), 1u);
              given -= segments[address];
              segments.erase(address);
            }};
  }
};

TEST(SegmentAllocator, BlocksLieApartInsideSegments) {
  RandomNumbers numbers;
  SegmentAllocator a(numbers.source());
  std::mt19937 random(1);
  std::map<std::uint64_t, std::uint64_t> blocks;
  for (int i = 0; i < 2000; ++i) {
    if (!blocks.empty() && random() % 2 == 0) {
      auto at = blocks.begin();
      std::advance(at, static_cast<long>(random() % blocks.size()));
      a.free(at->first);
      blocks.erase(at);
      continue;
    }
    const std::uint64_t bytes = random() % 100000;
    const std::uint64_t at = a.allocate(bytes);
    ASSERT_NE(at, 0u);
    const auto segment = std::prev(numbers.segments.upper_bound(at));
    ASSERT_LE(at + bytes, segment->first + segment->second);
    const auto after = blocks.lower_bound(at);
    if (after != blocks.end()) {
      ASSERT_LE(at + bytes, after->first);
    }
    if (after != blocks.begin()) {
      ASSERT_LE(std::prev(after)->first + std::prev(after)->second, at);
    }
    blocks[at] = bytes;
  }
  for (const auto& [at, bytes] : blocks) a.free(at);
  EXPECT_EQ(a.stats().used, 0u);
  a.trim();
  EXPECT_TRUE(numbers.segments.empty());
  EXPECT_EQ(a.stats().reserved, 0u);
}

TEST(SegmentAllocator, MemoryIsUsedAgain) {
  RandomNumbers numbers;
  SegmentAllocator a(numbers.source());
  for (int i = 0; i < 100; ++i) a.free(a.allocate(700000));
  EXPECT_EQ(numbers.segments.size(), 1u);
}

TEST(SegmentAllocator, FreedNeighboursBecomeOneBlock) {
  RandomNumbers numbers;
  SegmentAllocator a(numbers.source());
  std::vector<std::uint64_t> parts;
  for (int i = 0; i < 4; ++i) parts.push_back(a.allocate(1 << 18));
  for (std::size_t i : {1u, 3u, 0u, 2u}) a.free(parts[i]);
  EXPECT_EQ(a.allocate(1 << 20), parts[0]);
  EXPECT_EQ(numbers.segments.size(), 1u);
}

TEST(SegmentAllocator, NothingBeyondTheLimitOrTheDevice) {
  RandomNumbers numbers;
  SegmentAllocator limited(numbers.source());
  limited.set_limit(1 << 20);
  EXPECT_EQ(limited.allocate((1 << 20) + 1), 0u);
  const std::uint64_t all = limited.allocate(1 << 20);
  EXPECT_NE(all, 0u);
  EXPECT_EQ(limited.allocate(1), 0u);
  limited.free(all);
  EXPECT_NE(limited.allocate(1), 0u);

  RandomNumbers small;
  small.room = 3 << 20;
  SegmentAllocator a(small.source());
  const std::uint64_t first = a.allocate(2 << 20);
  EXPECT_NE(first, 0u);
  EXPECT_EQ(a.allocate(2 << 20), 0u);
  a.free(first);
  EXPECT_NE(a.allocate(3 << 20), 0u);  // returns the unused segment to make room
}

}  // namespace
}  // namespace tern
