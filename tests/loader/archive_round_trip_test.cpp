#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>

#include "loader/archive.h"
#include "loader/format.h"
#include "loader/read_archive.h"
#include "loader/validate.h"
#include "tests/loader/sample.h"

namespace tern::test {
namespace {

void expect_same_bytes(const Program& a, const Program& b) {
  for (std::uint32_t i = 0; i < a.storages.size(); ++i) {
    const auto x = a.source->bytes(i), y = b.source->bytes(i);
    ASSERT_EQ(x.size(), y.size()) << "storage " << i;
    EXPECT_TRUE(std::ranges::equal(x, y)) << "storage " << i;
  }
}

// A program from bytes reads them later.
template <typename Bytes>
concept Opens = requires(Bytes&& bytes) {
  open_archive(std::forward<Bytes>(bytes), {});
};
static_assert(Opens<const std::vector<std::byte>&> && Opens<std::span<const std::byte>>);
static_assert(!Opens<std::vector<std::byte>>, "temporary bytes");

TEST(ArchiveRoundTrip, KeepsEverything) {
  const Program before = sample_program();
  const std::vector<std::byte> bytes = archive_bytes(before);
  for (Verify verify : {Verify::never, Verify::first_use, Verify::now}) {
    const auto after = open_archive(bytes, {Access::map, verify});
    EXPECT_EQ(difference(before, *after), "");
    expect_same_bytes(before, *after);
  }
  const auto findings = validate_archive(bytes);
  EXPECT_TRUE(findings.empty()) << describe(findings.front());
}

TEST(ArchiveRoundTrip, WritingWhatWasReadGivesTheSameBytes) {
  const std::vector<std::byte> bytes = archive_bytes(sample_program());
  EXPECT_EQ(archive_bytes(*open_archive(bytes, {})), bytes);
}

TEST(ArchiveRoundTrip, KeepsMetadataOfOtherPrograms) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"org.example.note", "größe\n"}, {"", "no key"}, {"org.example.note", "again"}};
  Program p = sample_program();
  p.metadata = pairs;
  const std::vector<std::byte> once = archive_bytes(p), twice = archive_bytes(*open_archive(once, {}));
  EXPECT_EQ(open_archive(twice, {})->metadata, pairs);
}

TEST(ArchiveRoundTrip, Compressed) {
  Program before = sample_program();
  auto& source = static_cast<VectorSource&>(*before.source);
  // Larger than a frame, with an incomplete last frame, and compressible.
  std::vector<std::byte> large(kFrameSize * 2 + 12345);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::byte>(i / 1000);
  before.storages[0].size = large.size();
  source.storages[0] = large;
  const std::vector<std::byte> plain = archive_bytes(before);
  const std::vector<std::byte> bytes = archive_bytes(before, {WriteOptions::Codec::zstd, 5, {}});
  EXPECT_LT(bytes.size(), plain.size() / 4);
  for (Verify verify : {Verify::never, Verify::first_use, Verify::now}) {
    const auto after = open_archive(bytes, {Access::map, verify});
    EXPECT_EQ(difference(before, *after), "");
    expect_same_bytes(before, *after);
  }
  EXPECT_TRUE(validate_archive(bytes).empty());
}

TEST(ArchiveRoundTrip, SizesThatDoNotFit63Bits) {
  constexpr std::int64_t kLarge = std::numeric_limits<std::int64_t>::max();
  Program p = sample_program();
  for (std::int64_t value : {kLarge, kLarge / 2, kLarge / 2 + 1, -kLarge - 1, -kLarge / 2 - 2, std::int64_t{-1}}) {
    p.functions[1].nodes.back().set(AttrKey::value, Dims{value});  // the value of a full
    const std::vector<std::byte> bytes = archive_bytes(p);
    const auto after = open_archive(bytes, {});
    EXPECT_EQ(after->functions[1].nodes.back().dims(AttrKey::value), Dims{value});
  }
}

ReadArchive read(std::span<const std::byte> bytes) {
  Findings findings(Findings::Mode::throw_first);
  return read_archive(FileBytes::borrow(bytes), findings);
}

TEST(ArchiveWriter, StoresEqualBytesOnce) {
  const std::vector<std::byte> bytes = archive_bytes(sample_program());
  const ReadArchive a = read(bytes);
  const auto& states = a.program->states;
  EXPECT_EQ(states[1].storage, states[0].storage);  // tied
  EXPECT_NE(states[2].storage, states[0].storage);  // equal, and not tied
  EXPECT_EQ(a.segment_of[states[2].storage], a.segment_of[states[0].storage]);
  EXPECT_EQ(a.segment_of[states[6].storage], -1);
  ASSERT_EQ(a.program->kernels.size(), 2u);
  EXPECT_EQ(a.segment_of[a.program->kernels[1].storage], a.segment_of[a.program->kernels[0].storage]);
  EXPECT_EQ(a.segments.size(), 7u);  // two are attached files
}

TEST(ArchiveWriter, LeavesOutStoragesThatNobodyViews) {
  Program p = sample_program();
  auto& source = static_cast<VectorSource&>(*p.source);
  p.storages.insert(p.storages.begin(), Storage{1000});
  source.storages.insert(source.storages.begin(), std::vector<std::byte>(1000, std::byte{9}));
  for (State& s : p.states) ++s.storage;
  for (DeviceKernel& k : p.kernels) ++k.storage;
  for (auto& f : p.files) ++f.storage;
  const std::vector<std::byte> bytes = archive_bytes(p);
  EXPECT_EQ(difference(sample_program(), *open_archive(bytes, {})), "");
}

TEST(ArchiveWriter, AlignsSegments) {
  Program p = sample_program();
  auto& source = static_cast<VectorSource&>(*p.source);
  p.storages[0].size = kPageAlignedFrom;
  source.storages[0].assign(kPageAlignedFrom, std::byte{5});
  const std::vector<std::byte> bytes = archive_bytes(p);
  for (const SegmentInfo& s : read(bytes).segments) {
    EXPECT_EQ(s.offset % (s.stored_size >= 65536 ? 4096 : 64), 0u);
  }
}

TEST(ArchiveWriter, RefusesTextsThatTheFormatDoesNotHold) {
  Program p = sample_program();
  p.states[0].name = std::string(4097, 'a');
  EXPECT_THROW(archive_bytes(p), Error);
  p.states[0].name = "\xff";
  EXPECT_THROW(archive_bytes(p), Error);
  p.states[0].name = std::string("a\0b", 3);
  EXPECT_THROW(archive_bytes(p), Error);
}

}  // namespace
}  // namespace tern::test
