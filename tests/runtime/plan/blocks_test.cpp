#include "runtime/plan/blocks.h"

#include <gtest/gtest.h>

#include <random>

namespace tern {
namespace {

bool overlap(const MemoryBlock& a, const MemoryBlock& b) {
  const bool alive = a.first <= b.last && b.first <= a.last;
  return alive && a.size > 0 && b.size > 0 && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

TEST(Arena, BlocksAliveAtOnceNeverOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<MemoryBlock> blocks(60);
    for (MemoryBlock& b : blocks) {
      b.size = random() % 5000;
      b.first = random() % 100;
      b.last = b.first + random() % 20;
    }
    const std::uint64_t total = pack(blocks);
    std::uint64_t needed = 0;  // peak of live bytes at a step: a lower bound
    for (std::uint32_t step = 0; step < 120; ++step) {
      std::uint64_t alive = 0;
      for (const MemoryBlock& b : blocks) alive += b.first <= step && step <= b.last ? b.size : 0;
      needed = std::max(needed, alive);
    }
    EXPECT_GE(total, needed);
    EXPECT_LE(total, 2 * needed + 60 * 64);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(blocks[i].offset % 64, 0u);
      EXPECT_LE(blocks[i].offset + blocks[i].size, total);
      for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(overlap(blocks[i], blocks[j]));
    }
  }
}

TEST(Arena, ASecondValueTakesTheFirstOnesPlace) {
  std::vector<MemoryBlock> blocks = {{100, 0, 1, 0}, {100, 2, 3, 0}, {100, 1, 2, 0}};
  EXPECT_EQ(pack(blocks), 256u);
}

}  // namespace
}  // namespace tern
