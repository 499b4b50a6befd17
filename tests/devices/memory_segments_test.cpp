// Memory mapped into a single range of addresses: the allocator alone, and a device with mapped memory.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "runtime/devices/plugin/range_allocator.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

constexpr std::uint64_t kPiece = 4096, kBegin = 16 * kPiece;

/// A device that tracks mapped pieces and checks the rules of tern/device.h.
struct Mapped {
  std::set<std::uint64_t> pieces;
  std::uint64_t most = ~std::uint64_t{0};  ///< limit of mapped pieces
  RangeAllocator allocator;

  explicit Mapped(std::uint64_t count)
      : allocator(kBegin, count * kPiece,
                  {kPiece, [this](std::uint64_t at, std::uint64_t bytes) { return map(at, bytes); },
                   [this](std::uint64_t at, std::uint64_t bytes) { unmap(at, bytes); }}) {}
  bool map(std::uint64_t at, std::uint64_t bytes) {
    EXPECT_EQ(at % kPiece + bytes % kPiece, 0u);
    if (bytes / kPiece + pieces.size() > most) return false;
    for (std::uint64_t p = at; p < at + bytes; p += kPiece) EXPECT_TRUE(pieces.insert(p).second);
    return true;
  }
  void unmap(std::uint64_t at, std::uint64_t bytes) {
    for (std::uint64_t p = at; p < at + bytes; p += kPiece) EXPECT_EQ(pieces.erase(p), 1u);
  }
  bool is_mapped(std::uint64_t at, std::uint64_t bytes) const {
    for (std::uint64_t p = at / kPiece * kPiece; p < at + bytes; p += kPiece) {
      if (!pieces.contains(p)) return false;
    }
    return true;
  }
};

TEST(RangeAllocator, BlocksLieApartInMappedMemoryWhateverTheOrder) {
  Mapped m(256);
  std::mt19937 random(7);
  std::map<std::uint64_t, std::uint64_t> blocks;
  std::uint64_t used = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (i % 1000 == 999) m.allocator.trim();
    if (random() % 2 == 0 && !blocks.empty()) {
      auto at = std::next(blocks.begin(), static_cast<std::ptrdiff_t>(random() % blocks.size()));
      EXPECT_TRUE(m.is_mapped(at->first, at->second));
      used -= at->second;
      m.allocator.free(at->first);
      blocks.erase(at);
      continue;
    }
    const std::uint64_t bytes = 256 * (1 + random() % (random() % 8 == 0 ? 600 : 40));
    const std::uint64_t at = m.allocator.allocate(bytes);
    if (at == 0) continue;
    ASSERT_TRUE(m.is_mapped(at, bytes));
    const auto next = blocks.lower_bound(at);
    ASSERT_TRUE(next == blocks.end() || at + bytes <= next->first);
    ASSERT_TRUE(next == blocks.begin() || std::prev(next)->first + std::prev(next)->second <= at);
    blocks[at] = bytes;
    used += bytes;
    ASSERT_EQ(m.allocator.stats().used, used);
    ASSERT_EQ(m.allocator.stats().reserved, m.pieces.size() * kPiece);
  }
  for (const auto& [at, bytes] : blocks) m.allocator.free(at);
  m.allocator.trim();
  EXPECT_TRUE(m.pieces.empty());
  EXPECT_EQ(m.allocator.stats().reserved, 0u);
}

TEST(RangeAllocator, ABlockAtTheEndGrowsWhereItIs) {
  Mapped m(1024);
  const std::uint64_t other = m.allocator.allocate(kPiece);
  std::uint64_t arena = m.allocator.allocate(kPiece);
  const std::uint64_t place = arena;
  for (std::uint64_t pieces = 2; pieces <= 512; pieces *= 2) {
    m.allocator.free(arena);
    arena = m.allocator.allocate(pieces * kPiece);
    EXPECT_EQ(arena, place);
    EXPECT_EQ(m.pieces.size(), pieces + 1);  // only used memory remains
  }
  m.allocator.free(other);
}

TEST(RangeAllocator, FreeMemoryAnywhereServesALargeBlock) {
  Mapped m(1024);
  m.most = 9;
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(m.allocator.allocate(kPiece));
  for (std::size_t i = 0; i < blocks.size(); i += 2) m.allocator.free(blocks[i]);
  // Four free pieces lie between used pieces, and one piece was never used.
  const std::uint64_t large = m.allocator.allocate(5 * kPiece);
  ASSERT_NE(large, 0u);
  EXPECT_TRUE(m.is_mapped(large, 5 * kPiece));
  EXPECT_EQ(m.allocator.allocate(1), 0u);
  EXPECT_EQ(m.allocator.stats().out_of_memory, 1u);
  EXPECT_EQ(m.allocator.allocate(~std::uint64_t{0}), 0u);
}

TEST(RangeAllocator, TheLimitHolds) {
  Mapped m(1024);
  m.allocator.set_limit(4 * kPiece);
  const std::uint64_t all = m.allocator.allocate(4 * kPiece);
  EXPECT_NE(all, 0u);
  EXPECT_EQ(m.allocator.allocate(256), 0u);
  m.allocator.free(all);
  EXPECT_NE(m.allocator.allocate(256), 0u);
  EXPECT_LE(m.pieces.size(), 4u);
}

/// x + 1 of vectors of any length.
Model model_of_any_length() {
  TestProgram p;
  const Dim n = p.b().pool().symbol("n", 1, 1 << 24);
  const ValueId x = p.input(DType::f32, {n});
  p.output(p.b().expr("x + 1", {{"x", x}}, DType::f32));
  return p.model();
}

/// Peak memory of a device for runs with growing inputs.
DeviceMemoryStats after_growing(const std::string& device) {
  {
    Session session(model_of_any_length().prepare(options_on(device)));
    for (std::int64_t n = 1 << 10; n <= 1 << 20; n = n * 3 / 2) {
      const std::vector<Tensor> input = {Tensor(DType::f32, {n})};
      EXPECT_EQ(session.run(input)[0].span<const float>()[0], 1);
    }
    return device_memory(device);
  }
}

TEST(MemorySegments, ArenasThatGrowLeaveNothingBehind) {
  const DeviceMemoryStats mapped = after_growing(fresh_device("full")),
                          allocated = after_growing(fresh_device("plain"));
  EXPECT_EQ(mapped.segments, 1u);
  EXPECT_GT(allocated.segments, 1u);
  EXPECT_EQ(mapped.used, allocated.used);
  EXPECT_LT(mapped.reserved, mapped.used * 2);
  EXPECT_LT(mapped.reserved, allocated.reserved);
}

TEST(MemorySegments, ADeviceWithoutThemAllocatesSegments) {
  const std::string device = fresh_device("full");
  const DeviceControl& control = control_of("full");
  control.fail("segment_piece", 1, TERN_DEVICE_UNSUPPORTED);
  const std::int64_t before = control.counts().allocations;
  Session session(model_of_any_length().prepare(options_on(device)));
  EXPECT_EQ(session.run({Tensor(DType::f32, {8})})[0].span<const float>()[0], 1);
  EXPECT_TRUE(control.failed());
  EXPECT_GT(control.counts().allocations, before);
}

}  // namespace
}  // namespace tern
