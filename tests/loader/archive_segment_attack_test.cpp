// Attacks on the outside of an archive: offsets, sizes, overlaps, holes, bombs, versions. All hashes are right.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tern/error.h>

#include <cstring>
#include <limits>

#include "loader/archive.h"
#include "loader/format.h"
#include "loader/prologue.h"
#include "loader/validate.h"
#include "tests/loader/sample.h"

namespace tern::test {
namespace {

using testing::Test;
using writing::WrittenSegment;
using writing::WrittenStorages;

constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::uint64_t>::max();

std::vector<std::byte> edited_archive(const std::function<void(WrittenStorages&)>& change) {
  return edit_segments(sample_program(), {}, change);
}

/// Opening fails and names the rule.
void expect_rule_archive_segment_attack(std::span<const std::byte> bytes, const std::string& rule) {
  EXPECT_NE(open_error(bytes, Verify::never).find("rule " + rule), std::string::npos)
      << rule << " expected, not: " << open_error(bytes, Verify::never);
}

template <class T>
void overwrite_field(std::vector<std::byte>& bytes, std::uint64_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  rehash(bytes);
}

TEST(ArchiveAttack, HelpersGiveAGoodArchive) {
  EXPECT_EQ(open_error(edited_archive([](WrittenStorages&) {})), "");
}

// FIELD 2: offset + size wraps, exceeds the file, is misaligned.
TEST(ArchiveAttack, SegmentOffsets) {
  const std::uint64_t end = archive_bytes(sample_program()).size();
  for (std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{63}, end, end + 1, kMaxBytes,
                              kMaxBytes - 63, std::uint64_t{1} << 63}) {
    EXPECT_NE(open_error(edited_archive([&](WrittenStorages& s) { s.segments[1].offset = value; })), "") << value;
    EXPECT_NE(open_error(edited_archive([&](WrittenStorages& s) { s.segments[1].stored_size = value; })), "") << value;
    EXPECT_NE(open_error(edited_archive([&](WrittenStorages& s) { s.segments[1].size = value; })), "") << value;
    EXPECT_NE(open_error(edited_archive([&](WrittenStorages& s) {
                s.segments[1].size = value;
                s.segments[1].stored_size = value;
                s.storages[2].size = value;
              })),
              "")
        << value;
  }
  expect_rule_archive_segment_attack(edited_archive([](WrittenStorages& s) { s.segments[1].offset = kMaxBytes - 63; }),
                                     "segments.inside");
  expect_rule_archive_segment_attack(
      edited_archive([](WrittenStorages& s) { s.segments[3].stored_size = s.segments[3].size = 1 << 20; }),
      "segments.inside");
}

TEST(ArchiveAttack, SegmentAlignments) {
  for (std::uint64_t value : {0, 1, 32, 63, 65, 96, 1 << 30}) {
    expect_rule_archive_segment_attack(edited_archive([&](WrittenStorages& s) { s.segments[1].alignment = value; }),
                                       "segments.alignment");
  }
  expect_rule_archive_segment_attack(edited_archive([](WrittenStorages& s) { s.segments[1].alignment = 4096; }),
                                     "segments.alignment");
}

TEST(ArchiveAttack, IndexOffsets) {
  const std::vector<std::byte> good = archive_bytes(sample_program());
  for (std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{63}, std::uint64_t{good.size()},
                              std::uint64_t{good.size()} + 1, kMaxBytes, std::uint64_t{1} << 63}) {
    for (std::uint64_t field : {PrologueField::index_offset, PrologueField::index_size}) {
      std::vector<std::byte> bytes = good;
      overwrite_field(bytes, field, value);
      EXPECT_NE(open_error(bytes, Verify::never), "") << field << ' ' << value;
    }
  }
}

// FIELD 3: overlapping segments, holes, a polyglot's tail.
TEST(ArchiveAttack, OverlappingSegments) {
  expect_rule_archive_segment_attack(
      edited_archive([](WrittenStorages& s) { s.segments[1].offset = s.segments[0].offset; }), "segments.overlap");
  expect_rule_archive_segment_attack(
      edited_archive([](WrittenStorages& s) { s.segments[2].offset = s.segments[1].offset; }), "segments.overlap");
  expect_rule_archive_segment_attack(edited_archive([](WrittenStorages& s) { s.segments[0].offset = 0; }),
                                     "segments.overlap");
}

TEST(ArchiveAttack, SegmentsInAnotherOrder) {
  expect_rule_archive_segment_attack(edited_archive([](WrittenStorages& s) {
                                       std::swap(s.segments[0], s.segments[1]);
                                       for (auto& storage : s.storages) {
                                         if (storage.segment == 0 || storage.segment == 1)
                                           storage.segment = 1 - storage.segment;
                                       }
                                     }),
                                     "segments.tiling");
}

TEST(ArchiveAttack, HoleBeforeTheIndex) {
  const std::vector<std::byte> good = archive_bytes(sample_program());
  std::uint64_t index = 0;
  std::memcpy(&index, good.data() + PrologueField::index_offset, sizeof index);
  std::vector<std::byte> segments(good.begin() + kPrologueSize, good.begin() + static_cast<std::ptrdiff_t>(index));
  segments.resize(segments.size() + 64);
  expect_rule_archive_segment_attack(assemble(segments, std::span(good).subspan(index)), "segments.tiling");
}

TEST(ArchiveAttack, PolyglotTail) {
  std::vector<std::byte> bytes = archive_bytes(sample_program());
  bytes.resize(bytes.size() + 22);  // room for the end record of a zip file
  expect_rule_archive_segment_attack(bytes, "file.end");
}

TEST(ArchiveAttack, PaddingThatIsNotZero) {
  std::vector<std::byte> bytes = archive_bytes(sample_program());
  const auto program = open_archive(bytes, {});
  // The second segment holds 40 bytes at 192, followed by 24 bytes of padding.
  ASSERT_EQ(program->storages[2].size, 40u);
  bytes[192 + 40] = std::byte{1};
  expect_rule_archive_segment_attack(bytes, "segments.padding");
}

// FIELD 6: bombs.
TEST(ArchiveAttack, FrameThatDecodesToMoreThanDeclared) {
  Program p = sample_program();
  auto& source = static_cast<VectorSource&>(*p.source);
  p.storages[0].size = 65536;
  source.storages[0].assign(65536, std::byte{0});
  const auto bytes = edit_segments(p, {WriteOptions::Codec::zstd, 3, {}}, [](WrittenStorages& s) {
    ASSERT_TRUE(s.segments[0].compressed);
    s.segments[0].size = 1000;
    s.storages[0].size = 1000;
  });
  EXPECT_NE(open_error(bytes, Verify::now).find("segments.frames"), std::string::npos);
  const auto program = open_archive(bytes, {Access::map, Verify::first_use});
  EXPECT_THROW(program->source->bytes(0), Error);
}

TEST(ArchiveAttack, ExpansionBeyondTheCap) {
  Program p = sample_program();
  auto& source = static_cast<VectorSource&>(*p.source);
  p.storages[0].size = 65536;
  source.storages[0].assign(65536, std::byte{0});
  for (std::uint64_t size : {std::uint64_t{1} << 32, std::uint64_t{1} << 62, std::uint64_t{1} << 63}) {
    const auto bytes = edit_segments(p, {WriteOptions::Codec::zstd, 3, {}}, [&](WrittenStorages& s) {
      s.segments[0].size = size;
      s.segments[0].frame_size = kMaxFrameSize;
      s.storages[0].size = size;
    });
    EXPECT_NE(open_error(bytes, Verify::never), "") << size;
  }
}

TEST(ArchiveAttack, FrameTables) {
  Program p = sample_program();
  auto& source = static_cast<VectorSource&>(*p.source);
  p.storages[0].size = 3 * kFrameSize;
  source.storages[0].assign(3 * kFrameSize, std::byte{0});
  const auto spoil = [&](const std::function<void(WrittenSegment&)>& change) {
    return edit_segments(p, {WriteOptions::Codec::zstd, 3, {}}, [&](WrittenStorages& s) { change(s.segments[0]); });
  };
  EXPECT_EQ(open_error(spoil([](WrittenSegment&) {})), "");
  expect_rule_archive_segment_attack(spoil([](WrittenSegment& s) { s.frames.pop_back(); }), "segments.frames");
  expect_rule_archive_segment_attack(spoil([](WrittenSegment& s) { s.frames.push_back(0); }), "segments.frames");
  expect_rule_archive_segment_attack(spoil([](WrittenSegment& s) { ++s.frames[0]; }), "segments.frames");
  expect_rule_archive_segment_attack(spoil([](WrittenSegment& s) { s.frame_size = 0; }), "segments.frames");
  expect_rule_archive_segment_attack(spoil([](WrittenSegment& s) { s.frame_size = kMaxFrameSize + 1; }),
                                     "segments.frames");
  // A correct sum of wrong frame sizes: decoding finds the error.
  const auto shifted = spoil([](WrittenSegment& s) { ++s.frames[0], --s.frames[1]; });
  EXPECT_EQ(open_error(shifted, Verify::never), "");
  EXPECT_NE(open_error(shifted, Verify::now), "");
}

TEST(ArchiveAttack, StoragesWithoutTheirBytes) {
  expect_rule_archive_segment_attack(edited_archive([](WrittenStorages& s) { s.storages[0].segment = 99; }),
                                     "storages.segment");
  expect_rule_archive_segment_attack(edited_archive([](WrittenStorages& s) { s.storages[0].size = 64; }),
                                     "storages.segment");
  expect_rule_archive_segment_attack(edited_archive([](WrittenStorages& s) { s.storages[0].segment = -1; }),
                                     "storages.segment");
  expect_rule_archive_segment_attack(edited_archive([](WrittenStorages& s) {
                                       s.storages[2] = {0, -1};
                                     }),
                                     "segments.unused");
}

// FIELD 22: versions that this build does not read are refused, with the numbers of both.
TEST(ArchiveAttack, OtherVersions) {
  for (const auto& [major, minor] : {std::pair<int, int>{2, 0}, {1, 1}, {1, 7}, {0, 2}, {0, 0}, {65535, 65535}}) {
    std::vector<std::byte> bytes = archive_bytes(sample_program());
    overwrite_field(bytes, PrologueField::major, static_cast<std::uint16_t>(major));
    overwrite_field(bytes, PrologueField::minor, static_cast<std::uint16_t>(minor));
    const std::string message = open_error(bytes);
    EXPECT_NE(message.find(fmt::format("version {}.{},", major, minor)), std::string::npos) << message;
    EXPECT_NE(message.find("reads 0.1 and 1.0 to 1.0"), std::string::npos) << message;
    try {
      open_archive(bytes, {});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unsupported);
    }
  }
}

TEST(ArchiveAttack, ReservedBytes) {
  std::vector<std::byte> bytes = archive_bytes(sample_program());
  overwrite_field(bytes, PrologueField::reserved, 1);
  expect_rule_archive_segment_attack(bytes, "prologue.reserved");
  bytes = archive_bytes(sample_program());
  overwrite_field(bytes, PrologueField::reserved_end + 15, std::byte{1});
  expect_rule_archive_segment_attack(bytes, "prologue.reserved");
}

TEST(ArchiveAttack, WrongHashOfASegmentIsFoundAtFirstUse) {
  std::vector<std::byte> bytes = archive_bytes(sample_program());
  bytes[64] ^= std::byte{1};
  EXPECT_EQ(open_error(bytes, Verify::first_use), "");
  EXPECT_NE(open_error(bytes, Verify::now).find("fc.weight"), std::string::npos);
  const auto program = open_archive(bytes, {Access::map, Verify::first_use});
  EXPECT_THROW(program->source->bytes(0), Error);
  EXPECT_THROW(program->source->bytes(0), Error);  // and again
  EXPECT_NO_THROW(program->source->bytes(2));
  EXPECT_NO_THROW(open_archive(bytes, {Access::map, Verify::never})->source->bytes(0));
}

TEST(ArchiveAttack, ManyThreadsAskForTheSameSegment) {
  Program p = sample_program();
  auto& source = static_cast<VectorSource&>(*p.source);
  p.storages[0].size = 3 * kFrameSize + 5;
  source.storages[0].assign(3 * kFrameSize + 5, std::byte{7});
  const auto bytes = archive_bytes(p, {WriteOptions::Codec::zstd, 3, {}});
  const auto program = open_archive(bytes, {});
  const std::byte* seen[4] = {};
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 4; ++i) seen[i] = program->source->bytes(0).data();
  for (const std::byte* p0 : seen) EXPECT_EQ(p0, seen[0]);
  EXPECT_EQ(program->source->bytes(0).back(), std::byte{7});
}

}  // namespace
}  // namespace tern::test
